// Package adapter trains a few numbers instead of all parameters of a model: x = x0 + A c, where x has D parameters,
// the fleet trains the d numbers c, and A is public. Use it for a model that cannot be trained on the device, such as a
// frozen network of millions of parameters whose runtime only supports inference.
//
// A [Spec] describes A in one of four forms, and an [Adapter] applies it:
//
//	random   x[i] = x0[i] + s[i]*c[i mod d], with signs s from a seed: a random subspace that is never stored
//	coords   x[i] = x0[i] + c[k] for the k-th chosen coordinate i, such as the biases
//	lora     W = W0 + B S for chosen matrices, with B from c and rows of signs S from a seed
//	basis    x = x0 + sum of c[k]*(row k of a public file)
//
// All forms are linear, so the mean of the members' c yields the mean of their models. That is why lora trains
// only B, one of the two factors of a matrix's change, and fixes the other factor S, like FFA-LoRA (Sun et al.,
// "Improving LoRA in Privacy-preserving Federated Learning", ICLR 2024). A change of 1 in a number of c moves each
// parameter that depends on it by 1 (random, coords, lora), so the smoothing radius and the step size keep their
// meaning.
//
// In the form random, a gradient g with respect to x yields the gradient A^T g with respect to c, and E|A^T g|^2 =
// |g|^2. As for every random subspace, the projection of g onto the columns of A has on average d/D of the squared
// length of g (Li et al., "Measuring the Intrinsic Dimension of Objective Landscapes", ICLR 2018). Each column of A has
// D/d signs and zeros elsewhere, so an expansion costs one pass over x0.
//
// A fleet knows nothing of this: it trains d numbers, from zeros. An adapter is an oracle around an oracle
// ([Adapter.Oracle]), in the process of a node or in a scorer. The Spec is the fleet's task ([Spec.Task]), so that
// members with another seed or another base refuse each other.
package adapter
