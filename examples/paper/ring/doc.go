// Package ring is the paper's experiment on client heterogeneity: SPADE-DFL with client-level privacy on a ring of a
// thousand clients who tell the digits 6 and 7 apart, for five ways to deal the samples out.
//
// News takes 500 rounds to the other side of such a ring, and there are 50. So it matters whose model is scored, and
// all are: the model that a client holds, with the noise of its own releases and of its nearest neighbors'; the mean of
// a client's releases, which costs no privacy; and the average of all clients' models, which none of them holds. The
// run goes on after the last release with rounds of pure consensus, which touch no data and cost no privacy.
package ring
