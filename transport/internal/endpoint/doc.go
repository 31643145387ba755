// Package endpoint contains the parts that all transports share: limits, checks of names and keys, the queue of
// received frames, and the jitter of retries.
package endpoint
