// Package frozen provides a task for adapters: a network trained on clean MNIST digits, and noisy digits for members
// with bad cameras. No member computes gradients.
package frozen
