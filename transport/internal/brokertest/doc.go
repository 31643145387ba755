// Package brokertest has the checks that the tests of transports over brokers share: with an honest broker, a lying
// one, and one that is killed. Every check takes a function that opens an [End].
package brokertest
