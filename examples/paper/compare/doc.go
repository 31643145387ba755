// Package compare compares SPADE-DFL, as run by "spade-edge simulate", with rival methods on a user's own data. The
// rivals are FedAvg and decentralized gradient descent. SPADE-DFL and its rivals have the same privacy guarantee, the
// same number of losses and the same held-out samples. Two reference rows complete the table: each client trained
// alone, and one model trained on all data in one place.
package compare
