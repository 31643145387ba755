// Package endpoint has the common parts of all transports: limits, checks of names and keys, the queue of received
// frames, and the jitter of retries.
package endpoint
