// Package scale measures what a simulated round takes, in time and memory, as the network, the model or the data grow,
// and with which exponent.
package scale
