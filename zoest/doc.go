// Package zoest estimates a direction of descent from loss values alone: zeroth-order, single-point estimation with a
// component memory, as section III-B of the SPADE-DFL paper defines it.
//
// A client holds m samples. Its model is a black box, an [Oracle], that turns a point of R^d and a sample into one
// number. A query moves the current point by mu along a random direction u and asks for the loss of one sample there;
// the vector u*loss has mean mu*gradient + O(mu^2) but a large variance. The memory table keeps the latest such vector of every
// sample, and a mini-batch of fresh ones corrects the table's mean: the estimate v has the same conditional mean, and a
// second moment of at most 9 Q^2 (Lemma 1 of the paper).
//
// Nothing divides by mu: v estimates mu times the gradient, and the step size takes that into account.
//
// An [Estimator] never calls an oracle. It says what it wants to know next and is told the answer, so that whoever
// drives it may ask a function, another process or a simulated device, and stop in between. All its draws are
// addressed (package rng): given the same seed and the same losses it gives the same bits.
package zoest
