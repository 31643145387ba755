// Package adapt compares SPADE-DFL with methods that send only scalars, and with decentralized averaging. Eight members
// adapt a frozen network of 101,770 parameters to noisy digits. They add no noise to what they send, and each makes the
// same number of forward passes. The network and the digits are those of examples/adapter.
package adapt
