package ws

import (
	"context"
	"crypto/ed25519"
	"log/slog"
	"net"
	"time"

	"github.com/spade-dfl/spade-edge/transport"
	"github.com/spade-dfl/spade-edge/transport/internal/endpoint"
)

// window is how many frames of one peer may be on their way to Recv at a time.
const window = endpoint.Window

// Config describes a node and its neighbors.
type Config struct {
	// Name is the member's own name. Of two members the one whose name sorts lower (byte by byte) dials.
	Name string

	// Key is the member's own secret key. Peers know it by its public half.
	Key ed25519.PrivateKey

	// Listen is the TCP address to listen on, "host:port"; port 0 lets the system choose (see [Transport.Addr]). It
	// may be empty only if no peer's name sorts lower than Name.
	Listen string

	// Peers are the neighbors, in any order. There need not be any.
	Peers []Peer

	// Hello returns what to tell a peer first on every new connection, at most 64 KiB; nil sends an empty hello.
	// CheckHello checks the hello of the peer; an error refuses the connection, and the first 120 bytes of its text are
	// sent to the peer. Nil accepts everything. Both are called from several goroutines.
	Hello      func(peer string) []byte
	CheckHello func(peer string, hello []byte) error

	// MaxFrame is the length in bytes of the longest frame to send and to accept, at most 1 GiB; 0 stands for 16 MiB.
	// Neighbors should agree on it: a longer frame than the receiver accepts ends the connection. Up to four such
	// frames are held for each peer until Recv takes them, one that is being sent, and as many as there are peers of
	// those given to [Transport.Recycle].
	MaxFrame int

	// Logger is told of connections made, lost and refused; nil is silent.
	Logger *slog.Logger

	// timing and dial are for tests; zero means defaultTiming and a net.Dialer.
	timing timing
	dial   func(ctx context.Context, network, address string) (net.Conn, error)
}

// Peer is a neighbor. Its addresses, "wss://host:port/path" with port 443 by default, are tried in order when this end
// dials. They may be given later, with [Transport.SetAddresses], and are not used if the peer dials.
type Peer = transport.Peer

type timing struct {
	handshake  time.Duration // from TCP connect to hello accepted, both ways
	keepalive  time.Duration // between two of them
	idle       time.Duration // without a byte read or written before a connection is given up
	linger     time.Duration // for an orderly end
	backoffMin time.Duration // before the first new attempt to dial
	backoffMax time.Duration
	refusals   time.Duration // between warnings about unknown callers
}

var defaultTiming = timing{
	handshake:  15 * time.Second,
	keepalive:  15 * time.Second,
	idle:       90 * time.Second,
	linger:     2 * time.Second,
	backoffMin: 250 * time.Millisecond,
	backoffMax: 30 * time.Second,
	refusals:   10 * time.Second,
}

func (c *Config) validate() error {
	faults := endpoint.Faults{Prefix: "ws: config: "}
	own := faults.CheckNode(c.Name, c.Key, c.MaxFrame)
	if c.Listen != "" {
		if _, _, err := net.SplitHostPort(c.Listen); err != nil {
			faults.Add("Listen is %q, want host:port: %w", c.Listen, err)
		}
	}
	for _, p := range c.Peers {
		if p.Name != "" && p.Name < c.Name && c.Listen == "" {
			faults.Add("peer %q dials %q (the lower name dials), but Listen is empty", p.Name, c.Name)
		}
	}
	checkPeers(&faults, c.Name, own, c.Peers)
	return faults.Err()
}

// checkPeers reports the faults of peers. own is the node's public key, nil if it is not known.
func checkPeers(faults *endpoint.Faults, name string, own ed25519.PublicKey, peers []Peer) {
	faults.CheckPeers(name, own, peers, transport.CheckKey)
	for _, p := range peers {
		checkAddresses(faults, p)
	}
}

func checkAddresses(faults *endpoint.Faults, p Peer) {
	for _, a := range p.Addresses {
		if _, _, err := transport.ParseAddress(a); err != nil {
			faults.Add("peer %q: %w", p.Name, err)
		}
	}
}
