// Package scale measures the time and memory of a simulated round as the network, the model or the data grow, and the
// exponents of that growth.
package scale
