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

// window is how many received frames of one peer may wait until Recv returns them.
const window = endpoint.Window

// Config describes a node and its neighbors.
type Config struct {
	// Name is the member's own name.
	Name string

	// Key is the member's own secret key. Peers pin the public key that belongs to it.
	Key ed25519.PrivateKey

	// Listen is the TCP address to listen on, "host:port"; port 0 lets the system choose (see [Transport.Addr]). If
	// empty, this end dials every peer.
	Listen string

	// Proxy is the HTTP CONNECT proxy through which peers are dialed, "http://host:port" or "https://host:port", with
	// user and password if required. Nil means HTTPS_PROXY and NO_PROXY, as [http.ProxyFromEnvironment] reads them.
	Proxy *url.URL

	// Peers are the neighbors, in any order. The list may be empty.
	Peers []Peer

	// Hello returns the first message to a peer on a new connection, at most 64 KiB; a nil Hello means an empty
	// message. CheckHello checks the peer's hello; a nil CheckHello accepts every hello. If CheckHello fails, the
	// connection is refused, and the peer receives the first 120 bytes of the error's text. Both are called from
	// several goroutines.
	Hello      func(peer string) []byte
	CheckHello func(peer string, hello []byte) error

	// MaxFrame is the maximum length in bytes of frames to send and to accept, at most 1 GiB; 0 means 16 MiB. A longer
	// frame ends the connection. For each peer up to four such frames wait for Recv, and one is being sent.
	MaxFrame int

	// Logger receives lines about connections that were made, lost or refused; nil is silent.
	Logger *slog.Logger

	// For tests only. A zero timing means defaultTiming, a nil dial a net.Dialer.
	timing timing
	dial   func(ctx context.Context, network, address string) (net.Conn, error)
}

// Fleet provides the keys and addresses of a fleet's members. The type fleetfile.File implements it.
type Fleet interface {
	Peers(member string) []Peer
	MaxFrame() int
	Hello(member string) func(peer string) []byte
	CheckHello(member string) func(peer string, hello []byte) error
}

// ConfigOf returns the configuration of a fleet's member, for [New] and [Probe]. The caller may set further fields.
func ConfigOf(fleet Fleet, name string, key ed25519.PrivateKey, listen string) Config {
	return Config{Name: name, Key: key, Listen: listen, Peers: fleet.Peers(name), MaxFrame: fleet.MaxFrame(),
		Hello: fleet.Hello(name), CheckHello: fleet.CheckHello(name)}
}

// Peer is a neighbor. An address is "wss://host:port/path", by default with port 443, or "host:port". While there is no
// connection, this end tries the addresses in order, and resolves names each time. A peer without addresses must dial
// this end.
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

// checkPeers adds the errors of peers to faults. own is the node's public key, or nil if unknown.
func checkPeers(faults *endpoint.Faults, name string, own ed25519.PublicKey, peers []Peer) {
	faults.CheckPeers(name, own, peers, transport.CheckKey)
	for _, p := range peers {
		for _, a := range p.Addresses {
			if _, _, err := transport.ParseAddress(a); err != nil {
				faults.Add("peer %q: %w", p.Name, err)
			}
		}
	}
}
