// Package tradeoff repeats the paper's experiment on the effect of communication. Twenty clients on a cycle each make T
// local steps, under the paper's schedule without privacy. They communicate either after every step or after every
// T^(1/3) steps.
//
// The experiment measures the criterion S_K of the paper's theorem: the mean over all local steps of |grad F|^2 at the
// mean of the clients' iterates, plus the mean over rounds of the clients' mean squared distance from their mean.
// Gradients are computed only for this measurement; no client sees a gradient. A machine does not reveal its iterates
// between two exchanges, so the package derives them from the points at which the machine queries losses.
//
// The paper does not publish its problem instances. This package draws its own instances from public seeds; see
// [NewInstance].
package tradeoff
