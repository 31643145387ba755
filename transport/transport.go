package transport

import (
	"context"
	"crypto/ed25519"
	"errors"
	"time"
)

// ErrClosed is the error of Send and Recv, possibly wrapped, after Close.
var ErrClosed = errors.New("transport: closed")

// Transport carries frames between one member and its neighbors. It is safe for concurrent use.
type Transport interface {
	// Send passes a frame for member to to the network. It may wait for a connection or for a slow receiver, which
	// never delays a Send to another member. A nil error does not mean that the frame arrived. The caller must not
	// change the frame afterwards, but may send it to several members. Send fails when ctx ends, when the transport is
	// closed ([ErrClosed]), when to is not a neighbor, and when the frame is longer than MaxFrame.
	Send(ctx context.Context, to string, frame []byte) error

	// Recv waits for the next frame from any neighbor. The frame belongs to the caller. Recv fails when ctx ends and
	// when the transport is closed ([ErrClosed]), never because of a peer.
	Recv(ctx context.Context) (from string, frame []byte, err error)

	// MaxFrame returns the length limit of a frame in bytes.
	MaxFrame() int

	// Close ends all connections and all goroutines of the transport. It allows a short time to transmit frames for
	// which Send has returned. Further calls do nothing and return nil.
	Close() error
}

// Notifier is a [Transport] that reports when a connection to a neighbor opens. Earlier frames may be lost; the caller
// may resend them at once.
type Notifier interface {
	// Opened returns a channel that receives a neighbor's name each time a connection to it opens. The channel is
	// buffered, drops names that do not fit, and is never closed.
	Opened() <-chan string
}

// Peer is a neighbor in the configuration of a transport.
type Peer struct {
	Name string

	// Keys are the peer's public keys: the current key and, during a key change, the next one.
	Keys []ed25519.PublicKey

	// Addresses are the addresses for dialing the peer, in order of preference. Their form and use depend on the
	// transport.
	Addresses []string
}

// PeerStatus is a transport's view of one peer.
type PeerStatus struct {
	Name      string
	Connected bool      // frames can be sent to the peer, or to a broker that stores them
	Since     time.Time // time of the last change of Connected; zero if there never was a connection
	Where     string    // address of the other end or of the broker, if connected
	Heard     time.Time // when the last authentic message of the peer came through a broker; zero without message or broker
	How       string    // how the connection was made, if connected: "dialed" by this end, or "accepted"; empty with a broker
	Proxy     string    // the proxy through which this end dialed; empty if none
	Lost      int       // ended connections
	LostBy    error     // why the last one ended; nil if none did
	Err       error     // the last error of the connection or of what it carried, kept while connected, or why neither end dials; nil if none

	// Refused is the reason why one end refused the other's hello or fleet, nil if they have agreed since.
	Refused error

	// Refusals counts refused messages in the peer's name that came through a broker.
	Refusals int64

	// Sent and Received count bytes over all connections since the start: with TLS and handshakes for peers that proved
	// their key, or, through a broker, those of sealed messages, including refused ones.
	Sent, Received int64
}
