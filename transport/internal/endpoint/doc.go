// Package endpoint has what all transports share: limits, checks of names and keys, the queue of received frames, and
// the jitter of retries.
package endpoint
