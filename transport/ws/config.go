package ws

import (
	"context"
	"crypto/ed25519"
	"log/slog"
	"net"
	"net/url"
	"time"

	"github.com/spade-dfl/spade-edge/transport"
	"github.com/spade-dfl/spade-edge/transport/internal/endpoint"
)

// window is the maximum number of received frames from one peer that wait for Recv.
const window = endpoint.Window

// Config describes a node and its neighbors.
type Config struct {
	// Name is the node's own name.
	Name string

	// Key is the node's own secret key. The peers pin the corresponding public key.
	Key ed25519.PrivateKey

	// Listen is the TCP address to listen on, "host:port". With port 0, the system chooses the port (see
	// [Transport.Addr]). If Listen is empty, the node does not listen, but dials every peer.
	Listen string

	// Proxy is the HTTP proxy through which the node dials its peers with CONNECT: "http://host:port" or
	// "https://host:port", with a user and password if required. Nil means the proxy from the environment variables
	// HTTPS_PROXY and NO_PROXY, as in [http.ProxyFromEnvironment].
	Proxy *url.URL

	// Peers are the neighbors, in any order. The list may be empty.
	Peers []Peer

	// Hello returns the first message to send to a peer on a new connection, of at most 64 KiB; a nil Hello means an
	// empty message. CheckHello checks a hello from a peer; a nil CheckHello accepts every hello. If CheckHello fails,
	// the node refuses the connection and sends the first 120 bytes of the error text to the peer. Both functions may
	// be called from several goroutines.
	Hello      func(peer string) []byte
	CheckHello func(peer string, hello []byte) error

	// MaxFrame is the maximum length of sent and received frames, in bytes. It is at most 1 GiB; 0 means 16 MiB. A
	// longer frame ends the connection. For each peer, the node holds up to four received frames for Recv and one frame
	// that is being sent.
	MaxFrame int

	// Logger receives log lines about new, lost and refused connections; nil means slog.Default(), as everywhere.
	Logger *slog.Logger

	fault error // from ConfigOf

	// These fields are for tests only. A zero timing means defaultTiming, and a nil dial means that a net.Dialer dials.
	timing timing
	dial   func(ctx context.Context, network, address string) (net.Conn, error)
}

// Fleet provides the keys and addresses of a fleet's members. It is implemented by the type fleetfile.File.
type Fleet interface {
	Peers(member string) []Peer
	MaxFrame() int
	Hello(member string) func(peer string) []byte
	CheckHello(member string) func(peer string, hello []byte) error
	CheckMembers() error // fails if a member of the run has no keys
}

// ConfigOf returns a configuration for a member of a fleet, to pass to [New] or [Probe], which fail if the fleet lacks the
// key of a member. The caller may set further fields.
func ConfigOf(fleet Fleet, name string, key ed25519.PrivateKey, listen string) Config {
	return Config{Name: name, Key: key, Listen: listen, Peers: fleet.Peers(name), MaxFrame: fleet.MaxFrame(),
		Hello: fleet.Hello(name), CheckHello: fleet.CheckHello(name), fault: fleet.CheckMembers()}
}

// Peer is a neighbor. Its addresses have the form "wss://host:port/path" or "host:port"; the default port is 443. While
// there is no connection, the node tries the addresses in order and resolves host names each time. A peer without
// addresses must dial this node.
type Peer = transport.Peer

type timing struct {
	handshake  time.Duration // from the TCP connection until both hellos are accepted
	keepalive  time.Duration
	idle       time.Duration // a connection is closed when it has carried no byte in either direction for so long
	linger     time.Duration // for an orderly end of a connection
	backoffMin time.Duration // before the first new attempt to dial
	eagerMax   time.Duration // longest wait while a loss is younger than eager and nobody refuses
	eager      time.Duration
	backoffMax time.Duration // longest wait when the loss is older
}

var defaultTiming = timing{
	handshake:  15 * time.Second,
	keepalive:  15 * time.Second,
	idle:       90 * time.Second,
	linger:     2 * time.Second,
	backoffMin: 250 * time.Millisecond,
	eagerMax:   time.Second,
	eager:      10 * time.Minute,
	backoffMax: 30 * time.Second,
}

func (c *Config) validate() error {
	faults := endpoint.Faults{Prefix: "ws: config: "}
	if c.fault != nil {
		faults.Add("%w", c.fault)
	}
	own := faults.CheckNode(c.Name, c.Key, c.MaxFrame)
	if c.Listen != "" {
		if _, _, err := net.SplitHostPort(c.Listen); err != nil {
			faults.Add("Listen is %q, want host:port: %w", c.Listen, err)
		}
	}
	faults.CheckProxy(c.Proxy)
	checkPeers(&faults, c.Name, own, c.Peers)
	return faults.Err()
}

// checkPeers adds all errors in peers to faults. own is the node's public key, or nil if it is unknown.
func checkPeers(faults *endpoint.Faults, name string, own ed25519.PublicKey, peers []Peer) {
	faults.CheckPeers(name, own, peers)
	for _, p := range peers {
		for _, a := range p.Addresses {
			if _, _, err := transport.ParseAddress(a); err != nil {
				faults.Add("peer %q: %w", p.Name, err)
			}
		}
	}
}
