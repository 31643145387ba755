// Package compare compares SPADE-DFL, as "spade-edge simulate" runs it, with its rivals on a user's own data. The
// rivals are FedAvg and decentralized gradient descent, with the same guarantee, number of losses and held-out samples.
// Two extremes complete the table: each client alone, and all data in one place.
package compare
