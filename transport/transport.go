package transport

import (
	"context"
	"errors"
)

// ErrClosed is what Send and Recv return, possibly wrapped, after Close.
var ErrClosed = errors.New("transport: closed")

// Transport carries frames between one member and its neighbors. All methods may be called from several goroutines
// at once.
type Transport interface {
	// Send hands a frame to the network for the member called to. It may wait: for a connection, or for a receiver that
	// is behind; waiting for one member never delays a Send to another. A nil error does not mean that the frame
	// arrived. The transport may go on reading the frame until it has left, so the caller must not change it any more; one
	// frame may be sent to several members. Send fails when ctx ends, when the
	// transport is closed ([ErrClosed]), when to is not a neighbor, and when the frame is longer than MaxFrame.
	Send(ctx context.Context, to string, frame []byte) error

	// Recv waits for the next frame from any neighbor. The frame belongs to the caller. Recv fails when ctx ends and
	// when the transport is closed ([ErrClosed]); a fault of one peer is never an error here.
	Recv(ctx context.Context) (from string, frame []byte, err error)

	// MaxFrame returns the length in bytes of the longest frame that Send takes.
	MaxFrame() int

	// Close ends all connections and releases every goroutine of the transport. Frames for which Send has returned
	// are given a short while to leave. Further calls do nothing and return nil.
	Close() error
}

// Notifier is a [Transport] that can say when the way to a neighbor has opened: frames sent before may have been lost, and
// there is no reason to wait with repeating them.
type Notifier interface {
	// Opened returns a channel that receives the name of a neighbor each time a connection with it has been made. It has a
	// buffer, names that do not fit are dropped, and it is never closed.
	Opened() <-chan string
}

// Recycler is a [Transport] that can use the memory of a frame again.
type Recycler interface {
	// Recycle gives back a frame that Recv has returned. Nobody may use the slice or anything that shares its memory any
	// more, as a Send does for as long as the frame has not left, and it is given back once. To give back none is no
	// fault, only slower.
	Recycle(frame []byte)
}
