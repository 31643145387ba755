package nats

import (
	"crypto/ed25519"
	"log/slog"
	"net/url"
	"time"

	client "github.com/nats-io/nats.go"

	"github.com/spade-dfl/spade-edge/transport"
	"github.com/spade-dfl/spade-edge/transport/internal/endpoint"
	"github.com/spade-dfl/spade-edge/transport/internal/sealed"
)

const (
	// defaultMaxAge is how long the broker keeps a frame unless [Config.MaxAge] overrides it.
	defaultMaxAge = 7 * 24 * time.Hour

	// maxPiece is the maximum length in bytes of the piece of a frame in one message.
	maxPiece = sealed.MaxPiece

	// spare is the room, in bytes, for everything except the piece in a message of the broker's maximum length.
	spare = 1 << 10
)

// Config describes a node, its neighbors, and their broker.
type Config struct {
	// Name is the member's own name.
	Name string

	// Key is the member's own secret key. Peers pin the public key that belongs to it.
	Key ed25519.PrivateKey

	// Peers are the neighbors, in any order. The list may be empty.
	Peers []Peer

	// Run is the name by which the members of a run find each other at the broker. Never use a name again: the second
	// run would read the stored frames of the first.
	Run string

	// Fleet is a hash of the settings on which all members must agree. The node refuses a frame that carries a different
	// hash.
	Fleet [32]byte

	// URLs are the servers of one broker: "tls://host:port", or "wss://host:port/path" for its websocket listener, with
	// user and password if required. Without TLS, the schemes are "nats" and "ws". The default ports are 4222 for tls
	// and nats, 443 for wss and 80 for ws. Websocket URLs must have the same path and cannot be mixed with others. The
	// node connects to these servers only, even if they announce further ones.
	URLs []string

	// Proxy is the proxy through which the servers are dialed, see [transport.CheckProxy]. Nil means no proxy. For wss
	// URLs, nil means HTTPS_PROXY and NO_PROXY of the environment.
	Proxy *url.URL

	// Options are further options for the broker's client, such as client.UserCredentials or client.RootCAs. They must
	// not change what happens when a connection ends.
	Options []client.Option

	// Hello returns the message that this node sends to a peer when it starts, at most 64 KiB; a nil Hello means an
	// empty message. CheckHello checks the peer's hello; a nil CheckHello accepts every hello. If CheckHello fails,
	// [Transport.Peers] reports the error, but frames are not refused for it: they carry Fleet. Both are called from
	// several goroutines.
	Hello      func(peer string) []byte
	CheckHello func(peer string, hello []byte) error

	// MaxFrame is the maximum length in bytes of frames to send and to accept, at most 1 GiB; 0 means 16 MiB. Neighbors
	// should agree on it. For each peer the node holds up to four frames for Recv, and two that are still arriving.
	MaxFrame int

	// MaxAge is how long the broker keeps a frame; 0 means a week. MaxBytes is how many bytes of a run the broker
	// keeps; 0 means no limit. If the run's stream already exists, the values of the member that created it apply.
	MaxAge   time.Duration
	MaxBytes int64

	// Logger receives lines about connections to the broker and refused messages; nil is silent.
	Logger *slog.Logger

	timing timing // for tests; zero means defaultTiming
}

// Peer is a neighbor. Addresses are ignored: all members connect to the broker.
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
		faults.Add("URLs is empty, want %s", schemes.Forms())
	}
	for i, s := range c.URLs {
		if err := CheckURL(s); err != nil {
			faults.Add("URLs[%d]: %w", i, err)
		} else if _, web, path := sealed.Split(s); i > 0 && (web != c.web() || path != c.path()) {
			faults.Add("URLs[%d]: %q and %q, want websockets with one path or none", i, sealed.Redacted(c.URLs[0]), sealed.Redacted(s))
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

var schemes = sealed.Schemes{Prefix: "nats", Plain: "nats"}

// CheckURL returns an error if s is not valid in [Config.URLs]. The error contains no password.
func CheckURL(s string) error { return schemes.Check(s) }

func (c *Config) web() bool { _, web, _ := sealed.Split(c.URLs[0]); return web }

// path returns the path of the broker's websocket URLs; empty for other URLs.
func (c *Config) path() string { _, _, path := sealed.Split(c.URLs[0]); return path }
