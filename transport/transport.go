package transport

import (
	"context"
	"crypto/ed25519"
	"errors"
	"time"
)

// ErrClosed is what Send and Recv return, possibly wrapped, after Close.
var ErrClosed = errors.New("transport: closed")

// Transport carries frames between one member and its neighbors. It is safe for concurrent use.
type Transport interface {
	// Send hands a frame for member to to the network. It may wait for a connection or for a slow receiver, which never
	// delays a Send to another member. A nil error does not mean that the frame arrived. The caller must not change the
	// frame afterwards, but may send it to several members. Send fails when ctx ends, when the transport is closed
	// ([ErrClosed]), when to is not a neighbor, and when the frame is longer than MaxFrame.
	Send(ctx context.Context, to string, frame []byte) error

	// Recv waits for the next frame from any neighbor. The frame belongs to the caller. Recv fails when ctx ends and
	// when the transport is closed ([ErrClosed]), never because of a peer.
	Recv(ctx context.Context) (from string, frame []byte, err error)

	// MaxFrame returns the length limit of a frame in bytes.
	MaxFrame() int

	// Close ends all connections and all goroutines of the transport. Frames for which Send has returned get a short
	// while to leave. Further calls do nothing and return nil.
	Close() error
}

// Notifier is a [Transport] that reports when a connection to a neighbor opens. Earlier frames may be lost and can be
// repeated at once.
type Notifier interface {
	// Opened returns a channel that receives a neighbor's name at each new connection with it. The channel is buffered,
	// drops names that do not fit, and is never closed.
	Opened() <-chan string
}

// Peer is a neighbor in the configuration of a transport.
type Peer struct {
	Name string

	// Keys are the peer's public keys: the current one and, while it is being replaced, the next.
	Keys []ed25519.PublicKey

	// Addresses are where the peer can be dialed, in order of preference. Their form and use depend on the transport.
	Addresses []string
}

// PeerStatus is a transport's view of one peer.
type PeerStatus struct {
	Name      string
	Connected bool      // frames can be sent: to the peer, or to a broker that stores them
	Since     time.Time // of the last change of Connected; zero if there never was a connection
	Where     string    // the other end's address, or the broker's, if connected
	Heard     time.Time // when the last authentic message of the peer came through a broker; zero if none, or no broker
	How       string    // how it was made, if connected: "dialed" by this end, or "accepted"; empty with a broker
	Proxy     string    // through which this end has dialed; empty if there is none
	Lost      int       // how many connections have ended
	LostBy    error     // why the last of them has; nil if none
	Err       error     // the last fault of the connection or of what it carried, kept while connected, or why nobody dials; nil if none

	// Refused is why one end refused the other's hello or fleet, nil if they have agreed since. It lasts until the
	// configuration of one of them changes.
	Refused error

	// Refusals counts refused messages in the peer's name that came through a broker.
	Refusals int64

	// Sent and Received count bytes over all connections since the start: what TCP carries, with TLS and its
	// handshakes, for callers that proved the peer's key; through a broker sealed messages, refused ones included.
	Sent, Received int64
}
