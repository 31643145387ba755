// Package tradeoff is the paper's experiment on what communication buys: twenty clients on a cycle with the same number
// T of local steps each, who exchange either after every step or after every T^(1/3) of them, under the paper's
// schedule without privacy.
//
// What is measured is the criterion of the paper's theorem, S_K: the mean over all local steps of |grad F|^2 at the
// mean of the clients' iterates, plus the mean over rounds of the clients' mean squared distance from their mean.
// Gradients are computed to measure, and no client ever sees one. The iterates between two exchanges, which a machine
// shows nobody, are read off the points at which it asks for losses.
//
// The paper does not publish its instances; these are drawn from public seeds, see [NewInstance].
package tradeoff
