package mqtt

import (
	"context"
	"crypto/ed25519"
	"crypto/tls"
	"log/slog"
	"net"
	"net/url"
	"time"

	"github.com/spade-dfl/spade-edge/transport"
	"github.com/spade-dfl/spade-edge/transport/broker/internal/sealed"
	"github.com/spade-dfl/spade-edge/transport/internal/endpoint"
)

const defaultMaxAge = 7 * 24 * time.Hour

// Config describes a node, its neighbors and its broker.
type Config struct {
	// Name is the node's own name.
	Name string

	// Key is the node's own secret key. The peers pin the corresponding public key.
	Key ed25519.PrivateKey

	// Peers are the neighbors, in any order. The list may be empty.
	Peers []Peer

	// Run is the name of the run, by which its members find each other at the broker. Never reuse a name: the second
	// run would read the stored frames of the first run.
	Run string

	// Fleet is a hash of the settings on which all members must agree. The node refuses frames with a different hash.
	Fleet [32]byte

	// URL is the address of the broker: "tls://host:port", or "wss://host:port/path" for its websocket listener. The
	// schemes without TLS are "mqtt" and "ws". The default ports are 8883 for tls, 443 for wss, 1883 for mqtt and 80
	// for ws.
	URL string

	// Proxy is the proxy through which the node dials the broker (see [transport.CheckProxy]). Nil means no proxy,
	// except that for a wss URL it means the proxy from the environment variables HTTPS_PROXY and NO_PROXY.
	Proxy *url.URL

	// Login returns the user and password for a connection. An empty user or password is not sent; a nil Login means
	// that both are empty. TLS returns the TLS configuration for a connection, whose ServerName may be empty; a nil TLS
	// means the default configuration, with the system's certificate authorities. Both functions are called before each
	// connection, so the files that they read can be replaced. If either function fails, the attempt to connect fails.
	Login func() (user, password string, err error)
	TLS   func() (*tls.Config, error)

	// Hello returns the message that this node sends to a peer when it starts, of at most 64 KiB; a nil Hello means an
	// empty message. CheckHello checks a hello from a peer; a nil CheckHello accepts every hello. If CheckHello fails,
	// Peers reports the error, but the peer's frames are still accepted: they are checked against Fleet. Both functions
	// may be called from several goroutines.
	Hello      func(peer string) []byte
	CheckHello func(peer string, hello []byte) error

	// MaxFrame is the maximum length of sent and received frames, in bytes. It is at most 1 GiB; 0 means 16 MiB.
	// Neighbors should use the same value. For each peer, the node holds up to four frames for Recv and two frames that
	// are still arriving.
	MaxFrame int

	// MaxAge is how long the broker keeps this node's session while the node is disconnected, and how long it keeps
	// frames that the node sent. It must be a whole number of seconds; 0 means a week. A broker may have a lower limit.
	MaxAge time.Duration

	// Logger receives log lines about broker connections and refused messages; nil means slog.Default(), as everywhere.
	Logger *slog.Logger

	timing timing                                                                        // for tests; zero means defaultTiming
	direct func(ctx context.Context, network, address string) (conn net.Conn, err error) // for tests; nil means net.Dialer
}

// Peer is a neighbor. Its Addresses field is ignored, because all members connect to the broker.
type Peer = transport.Peer

type timing struct {
	connect    time.Duration // for one attempt to reach the broker
	keepAlive  time.Duration // between keepalives, in whole seconds; a connection ends after 1.5 times that in silence
	answer     time.Duration // for the broker to confirm a request, in addition to the time to send it
	steady     time.Duration // a connection that ends earlier counts as a failed attempt
	backoffMin time.Duration // shortest wait before a retry
	backoffMax time.Duration
	repeatMin  time.Duration // shortest time before a frame is sent to the broker again
	repeatMax  time.Duration
}

var defaultTiming = timing{
	connect:    20 * time.Second,
	keepAlive:  60 * time.Second,
	answer:     20 * time.Second,
	steady:     5 * time.Second,
	backoffMin: 250 * time.Millisecond,
	backoffMax: 30 * time.Second,
	repeatMin:  time.Second,
	repeatMax:  15 * time.Minute,
}

func (c *Config) validate() error {
	faults := endpoint.Faults{Prefix: "mqtt: config: "}
	common := c.sealed()
	common.Check(&faults)
	if err := transport.CheckBroker("mqtt", c.URL); err != nil {
		faults.Add("URL %w", err)
	} else if u, _, _ := sealed.Split(c.URL); u.User != nil {
		faults.Add("URL %q contains a user; set the user in Login instead", u.Redacted())
	}
	faults.CheckProxy(c.Proxy)
	if c.MaxAge < 0 || c.MaxAge > 0 && c.MaxAge < time.Second || c.MaxAge/time.Second > 1<<32-2 {
		faults.Add("MaxAge is %v, want 0 or 1s to %v", c.MaxAge, time.Duration(1<<32-2)*time.Second)
	}
	return faults.Err()
}

func (c *Config) sealed() sealed.Config {
	return sealed.Config{
		Prefix: "mqtt", Name: c.Name, Key: c.Key, Peers: c.Peers, Run: c.Run, Fleet: c.Fleet, Hello: c.Hello,
		CheckHello: c.CheckHello, MaxFrame: c.MaxFrame, Logger: c.Logger,
		RepeatMin: c.timing.repeatMin, RepeatMax: c.timing.repeatMax,
	}
}
