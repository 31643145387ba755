// Package compare compares SPADE-DFL, as run by "spade-edge simulate", with rival methods on a user's own data. The
// rivals are FedAvg and decentralized gradient descent, with the same privacy guarantee, number of losses and held-out
// samples. Two reference rows complete the table: each client trained alone, and one model trained on all data in one
// place.
package compare
