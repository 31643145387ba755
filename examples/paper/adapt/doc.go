// Package adapt compares SPADE-DFL with methods that send only scalars, and with decentralized averaging. Eight members
// adapt a frozen network of 101,770 parameters to noisy digits. No noise is added to messages, and all members make the
// same number of forward passes. The network and the digits come from examples/adapter.
package adapt
