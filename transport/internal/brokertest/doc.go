// Package brokertest has the checks that the tests of transports over brokers share. It checks a transport with an
// honest broker, with a malicious broker, and with a broker that is killed. Every check takes a function that opens an
// [End].
package brokertest
