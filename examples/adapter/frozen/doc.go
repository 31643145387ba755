// Package frozen is a task for adapters. It has a network, trained on clean digits of MNIST, and the noisy digits of
// members whose cameras are bad. No member computes gradients.
package frozen
