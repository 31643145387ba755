// Package tradeoff is the paper's experiment on the effect of communication. Twenty clients on a cycle make the same
// number T of local steps each, under the paper's schedule without privacy. They communicate either after every step or
// after every T^(1/3) steps.
//
// It measures the criterion of the paper's theorem, S_K: the mean over all local steps of |grad F|^2 at the mean of
// the clients' iterates, plus the mean over rounds of the clients' mean squared distance from their mean. Gradients
// are computed only to measure; no client sees one. A machine does not show its iterates between two exchanges, so the
// package derives them from the points at which the machine asks for losses.
//
// The paper does not publish its problem instances. This package draws its own from public seeds, see [NewInstance].
package tradeoff
