package sealed

import (
	"context"
	"errors"
	"time"
)

// Message is a message to publish through the broker.
type Message struct {
	From, To string        // tags of the members, in hexadecimal
	Place    string        // "hello" or "0" to "3"; the broker keeps only the latest message of each place
	Again    time.Duration // if this frame repeats an earlier one: minimum delay until the next repeat; else 0
	Data     []byte
}

// Line is a connection to a broker. When the connection ends, the Line connects again. Its methods must be safe for
// concurrent use.
type Line interface {
	// Ready waits for a connection and returns the maximum length of a piece, in bytes, that fits into a message. It
	// fails only if ctx ends.
	Ready(ctx context.Context) (piece int, err error)

	// Publish waits for a connection, publishes a message once, and waits until the broker confirms that it has stored
	// the message. The error wraps ErrEnded if the connection ended before that, and ErrTooLong if no later attempt can
	// succeed.
	Publish(ctx context.Context, m Message) error

	// Pause waits before the next attempt to publish, see [Watch.Pause].
	Pause(ctx context.Context, attempts int, most time.Duration)

	// State returns the state of the connection.
	State() State
}

var (
	// ErrEnded reports that the connection ended during a request.
	ErrEnded = errors.New("the connection to the broker has ended")

	// ErrTooLong reports that a message is longer than the broker permits.
	ErrTooLong = errors.New("the message is too long for the broker")
)

const (
	// Retry is how long to wait, at most, between attempts that cost little while the broker is there and refuses. An
	// attempt that repeats a message costs more, so that it waits for one second more for each retryRate bytes.
	Retry     = 2 * time.Second
	retryRate = 8 << 10
)
