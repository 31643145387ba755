// Package brokertest has the checks that tests of transports over brokers share: over an honest broker, one that lies,
// and one that is killed. Every check takes a function that opens an [End].
package brokertest
