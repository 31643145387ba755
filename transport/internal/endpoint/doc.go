// Package endpoint holds what the ends of all transports have in common: limits, checks of names and keys, the frames
// that wait for Recv, and the distance between attempts.
package endpoint
