// Package ring is the paper's experiment on client heterogeneity: SPADE-DFL with client-level privacy on a ring of a
// thousand clients that distinguish the digits 6 and 7, for five partitions of the samples.
//
// Information takes 500 rounds to the other side of such a ring, but there are only 50. So it matters which model is
// scored: the model that a client holds, with noise from the client's own releases and its nearest neighbors'; the
// mean of a client's releases, which costs no privacy; or the average of all clients' models, which no client holds.
// The package scores all three. After the last release the run continues with rounds of pure consensus, which use no
// data and cost no privacy.
package ring
