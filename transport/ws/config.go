package ws

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/spade-dfl/spade-edge/transport"
)

const (
	// DefaultMaxFrame is the longest frame, in bytes, that a transport takes unless [Config.MaxFrame] says otherwise.
	DefaultMaxFrame = 16 << 20

	// largestMaxFrame keeps every length an int on 32-bit machines.
	largestMaxFrame = 1 << 30

	// window is how many frames of one peer may be on their way to Recv at a time: the messages of two rounds and a
	// repeat of each.
	window = 4

	// maxHello is the longest hello in bytes.
	maxHello = 64 << 10

	// doorLimit is how many incoming connections may be on their way to being authenticated at a time.
	doorLimit = 64
)

// Config says who a node is and whom it talks to.
type Config struct {
	// Name is the member's own name. It also decides who calls whom: of two members the one whose name sorts lower
	// (byte by byte) dials.
	Name string

	// Key is the member's own secret key. Peers know it by its public half.
	Key ed25519.PrivateKey

	// Listen is the TCP address to listen on, "host:port"; port 0 lets the system choose (see [Transport.Addr]). It
	// may be empty only if no peer's name sorts lower than Name.
	Listen string

	// Peers are the neighbors, in any order. There need not be any.
	Peers []Peer

	// Hello returns what to tell a peer first on every new connection, at most 64 KiB; nil sends an empty hello.
	// CheckHello judges what the peer told; an error refuses the connection, and the first 120 bytes of its text are
	// sent to the peer. Nil accepts everything. Both are called from several goroutines.
	Hello      func(peer string) []byte
	CheckHello func(peer string, hello []byte) error

	// MaxFrame is the length in bytes of the longest frame to send and to accept, at most 1 GiB; 0 stands for
	// [DefaultMaxFrame]. Neighbors should agree on it: a longer frame than the receiver accepts ends the connection.
	// Up to four such frames are held for each peer until Recv takes them, one that is being sent, and as many as there
	// are peers of those given to [Transport.Recycle].
	MaxFrame int

	// Logger is told of connections made, lost and refused; nil is silent.
	Logger *slog.Logger

	// timing and dial are for tests; zero means defaultTiming and a net.Dialer.
	timing timing
	dial   func(ctx context.Context, network, address string) (net.Conn, error)
}

// Peer is a neighbor.
type Peer = transport.Peer

// timing collects every duration of the protocol.
type timing struct {
	handshake  time.Duration // from TCP connect to hello accepted, both ways
	beat       time.Duration // between signs of life
	silence    time.Duration // without a byte read, or without room for a byte to write, before a connection is given up
	linger     time.Duration // for a polite end
	backoffMin time.Duration // before the first new attempt to dial
	backoffMax time.Duration
	complain   time.Duration // between log lines about strangers
}

var defaultTiming = timing{
	handshake:  15 * time.Second,
	beat:       15 * time.Second,
	silence:    90 * time.Second,
	linger:     2 * time.Second,
	backoffMin: 250 * time.Millisecond,
	backoffMax: 30 * time.Second,
	complain:   10 * time.Second,
}

// validate reports every fault of a configuration at once.
func (c *Config) validate() error {
	var errs []error
	fault := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("ws: config: "+format, args...))
	}
	if c.Name == "" {
		fault("Name is empty")
	}
	var own ed25519.PublicKey
	switch {
	case len(c.Key) != ed25519.PrivateKeySize:
		fault("Key has %d bytes, want an Ed25519 private key of %d", len(c.Key), ed25519.PrivateKeySize)
	case !ed25519.NewKeyFromSeed(c.Key.Seed()).Equal(c.Key):
		fault("Key: the public half does not belong to the secret half")
	default:
		own = ed25519.PublicKey(c.Key[ed25519.SeedSize:])
	}
	if c.Listen != "" {
		if _, _, err := net.SplitHostPort(c.Listen); err != nil {
			fault("Listen is %q, want host:port: %w", c.Listen, err)
		}
	}
	if c.MaxFrame < 0 || c.MaxFrame > largestMaxFrame {
		fault("MaxFrame is %d, want 0 to %d", c.MaxFrame, largestMaxFrame)
	}
	for _, p := range c.Peers {
		if p.Name != "" && p.Name < c.Name && c.Listen == "" {
			fault("peer %q dials %q (the lower name dials), but Listen is empty", p.Name, c.Name)
		}
	}
	checkPeers(c.Name, own, c.Peers, fault)
	return errors.Join(errs...)
}

// checkPeers reports every fault of the peers of a node. own is the node's public key, nil if that is not known.
func checkPeers(name string, own ed25519.PublicKey, peers []Peer, fault func(format string, args ...any)) {
	owner := make(map[string]string) // of a public key
	if own != nil {
		owner[string(own)] = name
	}
	seen := make(map[string]bool)
	for i, p := range peers {
		switch {
		case p.Name == "":
			fault("peer %d has no name", i)
		case p.Name == name:
			fault("peer %d is called %q, as the node itself", i, p.Name)
		case seen[p.Name]:
			fault("peer %q is listed twice", p.Name)
		}
		seen[p.Name] = true
		if len(p.Keys) < 1 || len(p.Keys) > 2 {
			fault("peer %q has %d keys, want 1 or 2", p.Name, len(p.Keys))
		}
		for j, k := range p.Keys {
			if err := transport.CheckKey(k); err != nil {
				fault("peer %q: key %d: %w", p.Name, j, err)
				continue
			}
			if o, ok := owner[string(k)]; ok {
				fault("peer %q: key %d, %s, is also a key of %q", p.Name, j, transport.FormatKey(k), o)
			}
			owner[string(k)] = p.Name
		}
		for _, a := range p.Addresses {
			if _, err := parseAddress(a); err != nil {
				fault("peer %q: %w", p.Name, err)
			}
		}
	}
}

// address is a place to dial.
type address struct {
	url      string // as given
	host     string // for the server name in the TLS hello, which a pass-through proxy routes by
	hostPort string
}

// parseAddress reads a wss URL.
func parseAddress(s string) (address, error) {
	host, hostPort, err := transport.ParseAddress(s)
	return address{url: s, host: host, hostPort: hostPort}, err
}

// parseAddresses reads a list and reports every fault at once.
func parseAddresses(list []string) ([]address, error) {
	var errs []error
	as := make([]address, 0, len(list))
	for _, s := range list {
		a, err := parseAddress(s)
		errs = append(errs, err)
		as = append(as, a)
	}
	return as, errors.Join(errs...)
}
