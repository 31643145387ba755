// Package frozen is a task for adapters: a network of 101,770 parameters, trained on clean digits of MNIST, and the
// noisy digits of some members, whose cameras are bad. No member has a gradient.
package frozen
