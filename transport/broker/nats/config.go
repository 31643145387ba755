package nats

import (
	"crypto/ed25519"
	"log/slog"
	"net/url"
	"time"

	client "github.com/nats-io/nats.go"

	"github.com/spade-dfl/spade-edge/transport"
	"github.com/spade-dfl/spade-edge/transport/broker/internal/sealed"
	"github.com/spade-dfl/spade-edge/transport/internal/endpoint"
)

const (
	defaultMaxAge = 7 * 24 * time.Hour
	spare         = 1 << 10 // bytes reserved in a message for everything except the piece
)

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

	// URLs are the addresses of one broker's servers: "tls://host:port", or "wss://host:port/path" for the websocket
	// listener, with a user and password if required. The schemes without TLS are "nats" and "ws". The default ports
	// are 4222 for tls and nats, 443 for wss and 80 for ws. Websocket URLs cannot be mixed with other URLs, and must
	// all have the same path. The node connects only to these servers, even if they announce further servers.
	URLs []string

	// Proxy is the proxy through which the node dials the servers (see [transport.CheckProxy]). Nil means no proxy,
	// except that for wss URLs it means the proxy from the environment variables HTTPS_PROXY and NO_PROXY.
	Proxy *url.URL

	// Options are additional options for the NATS client, such as client.UserCredentials or client.RootCAs. They must
	// not change how the client handles the end of a connection.
	Options []client.Option

	// Hello returns the message that this node sends to a peer when it starts, of at most 64 KiB; a nil Hello means an
	// empty message. CheckHello checks a hello from a peer; a nil CheckHello accepts every hello. If CheckHello fails,
	// [Transport.Peers] reports the error, but the peer's frames are still accepted: they are checked against Fleet.
	// Both functions may be called from several goroutines.
	Hello      func(peer string) []byte
	CheckHello func(peer string, hello []byte) error

	// MaxFrame is the maximum length of sent and received frames, in bytes. It is at most 1 GiB; 0 means 16 MiB.
	// Neighbors should use the same value. For each peer, the node holds up to four frames for Recv and two frames that
	// are still arriving.
	MaxFrame int

	// MaxAge is how long the broker keeps a frame; 0 means a week. MaxBytes is the maximum number of bytes that the
	// broker keeps for a run; 0 means no limit. Both apply only if this node creates the run's stream; otherwise the
	// values of the member that created it apply.
	MaxAge   time.Duration
	MaxBytes int64

	// Logger receives log lines about broker connections and refused messages; nil means slog.Default(), as everywhere.
	Logger *slog.Logger

	timing timing // for tests; zero means defaultTiming
}

// Peer is a neighbor. Its Addresses field is ignored, because all members connect to the broker.
type Peer = transport.Peer

type timing struct {
	connect    time.Duration // for one attempt to reach a server
	ping       time.Duration // between keepalives; a connection ends if two are not answered
	answer     time.Duration // for the broker to confirm a request
	backoffMin time.Duration // shortest wait before a retry
	backoffMax time.Duration
	repeatMin  time.Duration // shortest time before a frame is sent to the broker again
	repeatMax  time.Duration
	heartbeat  time.Duration // between signs of life of the broker while it has no messages
}

var defaultTiming = timing{
	connect:    15 * time.Second,
	ping:       30 * time.Second,
	answer:     15 * time.Second,
	backoffMin: 250 * time.Millisecond,
	backoffMax: 30 * time.Second,
	repeatMin:  time.Second / 2,
	repeatMax:  time.Minute,
	heartbeat:  15 * time.Second,
}

func (c *Config) validate() error {
	faults := endpoint.Faults{Prefix: "nats: config: "}
	common := c.sealed()
	common.Check(&faults)
	if len(c.URLs) == 0 {
		faults.Add("URLs is empty, want at least one")
	}
	for i, s := range c.URLs {
		if err := transport.CheckBroker("nats", s); err != nil {
			faults.Add("URLs[%d] %w", i, err)
		} else if _, web, path := sealed.Split(s); i > 0 && (web != c.web() || path != c.path()) {
			faults.Add("URLs[%d]: found %q and %q, want websocket URLs with one common path, or no websocket URLs",
				i, sealed.Redacted(c.URLs[0]), sealed.Redacted(s))
		}
	}
	faults.CheckProxy(c.Proxy)
	if c.MaxAge < 0 || c.MaxAge > 0 && c.MaxAge < time.Second {
		faults.Add("MaxAge is %v, want 0 or at least 1s", c.MaxAge)
	}
	if c.MaxBytes < 0 {
		faults.Add("MaxBytes is %d, want 0 or more", c.MaxBytes)
	}
	return faults.Err()
}

func (c *Config) sealed() sealed.Config {
	return sealed.Config{
		Prefix: "nats", Name: c.Name, Key: c.Key, Peers: c.Peers, Run: c.Run, Fleet: c.Fleet, Hello: c.Hello,
		CheckHello: c.CheckHello, MaxFrame: c.MaxFrame, Logger: c.Logger,
		RepeatMin: c.timing.repeatMin, RepeatMax: c.timing.repeatMax,
	}
}

func (c *Config) web() bool { _, web, _ := sealed.Split(c.URLs[0]); return web }

// path returns the path in the broker's websocket URLs. For other URLs it returns "".
func (c *Config) path() string { _, _, path := sealed.Split(c.URLs[0]); return path }
