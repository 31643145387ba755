// Package scale measures how the time and memory of a simulated round grow with the network, the model and the data. It
// fits an exponent to each kind of growth.
package scale
