// Package scale measures the time and memory of a simulated round as the network, the model or the data grow. It fits
// an exponent to the growth of each.
package scale
