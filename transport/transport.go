package transport

import (
	"context"
	"crypto/ed25519"
	"errors"
	"time"
)

// ErrClosed is the error that Send and Recv return, possibly wrapped, after Close.
var ErrClosed = errors.New("transport: closed")

// Transport carries frames between one member and its neighbors. It is safe for concurrent use.
type Transport interface {
	// Send passes a frame to the network. The argument "to" is the receiver's name. Send may wait for a connection or
	// for a slow receiver, but never delays a Send to another member. A nil error does not mean that the frame arrived.
	// The caller must not change the frame after the call, but may send the same slice to several members. Send fails
	// if ctx ends, if the transport is closed ([ErrClosed]), if the receiver is not a neighbor, or if the frame is
	// longer than MaxFrame.
	Send(ctx context.Context, to string, frame []byte) error

	// Recv waits for the next frame from any neighbor. The caller owns the returned frame. Recv fails only if ctx ends
	// or the transport is closed ([ErrClosed]), never because of a peer. If the transport has a method
	// Recycle(frame []byte), a node passes each frame to it after decoding it, and no longer uses the frame.
	Recv(ctx context.Context) (from string, frame []byte, err error)

	// MaxFrame returns the maximum length of a frame, in bytes.
	MaxFrame() int

	// Close ends all connections and all goroutines of the transport. It waits briefly for the delivery of frames for
	// which Send has returned. After the first call, Close does nothing and returns nil.
	Close() error
}

// Notifier is a [Transport] that reports when a connection to a neighbor opens. Frames sent before that may be lost, so
// the caller may want to send these frames again.
type Notifier interface {
	// Opened returns a channel that receives a neighbor's name each time a connection to that neighbor opens. The
	// channel is buffered; when the buffer is full, names are dropped. The channel is never closed.
	Opened() <-chan string
}

// Peer describes a neighbor in the configuration of a transport.
type Peer struct {
	Name string

	// Keys are the peer's public keys: the current key and, while the peer changes its key, the next one.
	Keys []ed25519.PublicKey

	// Addresses are the addresses at which to dial the peer, in order of preference. Their form and use depend on the
	// transport.
	Addresses []string
}

// PeerStatus describes a transport's connection to one peer.
type PeerStatus struct {
	Name      string
	Broker    bool      // the peer is reached through a broker
	Connected bool      // frames can be sent to the peer, or to a broker that stores them
	Since     time.Time // time of the last change of Connected; zero if Connected has never been true
	Where     string    // address of the peer or of the broker, if connected
	Heard     time.Time // with a broker: when the last new authentic message of the peer arrived; zero if none has
	How       string    // how the connection was made, if connected: "dialed" by this end, or "accepted"; empty with a broker
	Proxy     string    // the proxy through which this end dialed; empty if it used none
	Lost      int       // number of connections that have ended
	LostBy    error     // why the last connection ended; nil if none has ended
	Err       error     // the last error, even if connected since then, or why neither end dials; nil if there is none

	// Refused is the error with which this node or the peer refused the other's hello or fleet. It is nil if neither
	// end refused.
	Refused error

	// Refusals is the number of refused messages that came through a broker and claimed to be from the peer.
	Refusals int64

	// Sent and Received count bytes over all connections since the transport was created. Without a broker, they count
	// all bytes, including TLS and handshakes, on connections on which the peer proved its key. With a broker, they
	// count the bytes of sealed messages, including refused messages.
	Sent, Received int64
}
