// Package brokertest contains the checks that the tests of all broker transports share. It checks a transport with an
// honest broker, with a malicious broker, and with a broker that is killed. Every check takes a function that opens an
// [End].
package brokertest
