// Package zoest estimates a descent direction from loss values alone. It implements the zeroth-order, single-point
// estimator with a component memory that is described in section III-B of Wei, Zhu, Chen, Yu and Chen, "SPADE-DFL:
// Communication-Efficient Decentralized Federated Learning via Derivative-Free Linearized ADMM". Equation numbers refer
// to that paper.
//
// An [Estimator] never calls an oracle: it returns the next queries and accepts their losses. So the program that
// drives it can query a function or another process, and can pause between queries. All random draws are determined by
// their address (package rng): the same seed and the same losses produce the same bits.
//
// A client has m samples. Its model is a black box, an [Oracle], that maps a point in R^d and a sample to a number. A
// query moves the current point by mu along a random direction u and asks for the loss of one sample there. The vector
// u*loss, eq. (3), has the mean mu*gradient + O(mu^2), but a large variance. The memory table contains the latest such
// vector for every sample, and a mini-batch of fresh vectors corrects the mean of the table. The result is the estimate
// v, eq. (5), which has the same conditional mean, and a second moment of at most 9 Q^2 (Lemma 1). v estimates mu times
// the gradient; the step size must account for mu.
//
// Another kind of memory, [Tracking], also satisfies Lemma 1, and thus the theorem of the paper, and needs fewer queries
// for the same error. With Tracking, the error of v decreases from round to round, below that of
// two-point estimates with the same number of queries (see TestErrorAtEqualQueries).
package zoest
