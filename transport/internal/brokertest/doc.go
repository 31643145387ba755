// Package brokertest is what the tests of transports over brokers share: what a transport has to do over any broker, an
// honest one, one that lies, and one that is killed. Every check takes a function that opens an [End].
package brokertest
