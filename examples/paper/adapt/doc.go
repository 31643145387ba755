// Package adapt compares SPADE-DFL with methods that send scalars alone, and with decentralized averaging: eight members
// adapt a frozen network of 101,770 parameters to noisy digits, without noise on what they send, and each makes the same
// number of forward passes. The network and the digits are those of examples/adapter.
package adapt
