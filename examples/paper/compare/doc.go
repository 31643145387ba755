// Package compare sets SPADE-DFL, as "spade-edge simulate" runs it, beside its rivals on anybody's own data: FedAvg and
// decentralized gradient descent with the same guarantee, the same losses to ask for and the same held-out samples, and
// what stands at both ends, each client alone and all data in one place.
package compare
