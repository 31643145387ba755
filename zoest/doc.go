// Package zoest estimates a descent direction from loss values alone: zeroth-order, single-point estimation with a
// component memory, section III-B of Wei, Zhu, Chen, Yu and Chen, "SPADE-DFL: Communication-Efficient Decentralized
// Federated Learning via Derivative-Free Linearized ADMM". Equation numbers are those of that paper.
//
// An [Estimator] never calls an oracle: it returns the next queries and accepts their losses, so its driver can ask a
// function or another process and can pause in between. All its draws are addressed (package rng): the same seed and
// losses give the same bits.
//
// A client holds m samples. Its model is a black box, an [Oracle], that maps a point of R^d and a sample to a number. A
// query moves the current point by mu along a random direction u and asks for the loss of one sample there. The vector
// u*loss, eq. (3), has mean mu*gradient + O(mu^2) but a large variance. The memory table keeps the latest such vector
// of every sample, and a mini-batch of fresh vectors corrects the table's mean: the estimate v, eq. (5), has the same
// conditional mean, and a second moment of at most 9 Q^2 (Lemma 1). v estimates mu times the gradient; the step size
// accounts for mu.
//
// Two other kinds of memory keep Lemma 1, and thus the paper's theorem, and need fewer queries for the same error.
// [Centered] subtracts from each loss the previous loss of its sample. [Tracking] subtracts a linear model of the
// sample's loss that persists across rounds. Tracking fills no table, and the error of v decreases from round to round,
// below the error of two-point estimates at equal queries (see TestErrorAtEqualQueries).
package zoest
