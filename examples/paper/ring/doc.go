// Package ring repeats the paper's experiment on client heterogeneity. A thousand clients on a ring learn to
// distinguish the digits 6 and 7 by SPADE-DFL with client-level privacy, for five partitions of the samples.
//
// Information needs 500 rounds to reach the other side of such a ring, but the experiment has only 50 rounds. The
// result therefore depends on which model is scored, and the package scores three. The first is the model that a client
// holds, with the noise of the client's own releases and of its nearest neighbors' releases. The second is the mean of
// a client's releases, which costs no privacy. The third is the average of all clients' models, which no client holds.
// After the last release, the run continues with rounds of pure consensus, which use no data and cost no privacy.
package ring
