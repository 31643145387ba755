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
	// defaultMaxAge is how long the broker keeps a frame unless [Config.MaxAge] says otherwise.
	defaultMaxAge = 7 * 24 * time.Hour

	// maxPiece is the longest piece of a frame in one message, in bytes.
	maxPiece = sealed.MaxPiece

	// spare is what a broker's longest message has room for around a piece.
	spare = 1 << 10
)

// Config describes a node, its neighbors, and the broker where they meet.
type Config struct {
	// Name is the member's own name.
	Name string

	// Key is the member's own secret key. Peers know it by its public half.
	Key ed25519.PrivateKey

	// Peers are the neighbors, in any order. There need not be any.
	Peers []Peer

	// Run names the run. Members of one run meet at a broker because they have the same, and it must never be used
	// again for another: what the broker stores of the first would be taken for the second's.
	Run string

	// Fleet is a hash of what all members have to agree on. A frame from a peer that has another is refused.
	Fleet [32]byte

	// URLs are servers of one broker, "tls://host:port" or "wss://host:port/path" for its websocket listener, or the same
	// without TLS, "nats://" and "ws://", with user and password if it wants them. The port defaults to 4222, and to 443
	// and 80 for websockets. All are websockets, with one path, or none is. No other server is connected to, even if these
	// name some.
	URLs []string

	// Proxy is through what the servers are dialed, see [transport.CheckProxy]; nil stands for HTTPS_PROXY of the
	// environment if the URLs begin with wss, and else for none. There NO_PROXY excepts.
	Proxy *url.URL

	// Options are further options for the broker's client, such as client.UserCredentials or client.RootCAs. They must
	// not change what happens when a connection ends.
	Options []client.Option

	// Hello returns what to tell a peer when this node starts, at most 64 KiB; nil sends an empty hello. CheckHello
	// checks the hello of the peer. An error is shown by [Transport.Peers] and refuses nothing by itself: frames carry
	// Fleet. Nil accepts everything. Both are called from several goroutines.
	Hello      func(peer string) []byte
	CheckHello func(peer string, hello []byte) error

	// MaxFrame is the length in bytes of the longest frame to send and to accept, at most 1 GiB; 0 stands for
	// 16 MiB. Neighbors should agree on it. For each peer up to four such frames are held until Recv takes them,
	// and two that are still arriving.
	MaxFrame int

	// MaxAge is how long the broker keeps a frame, and MaxBytes how many bytes of a run; 0 stands for a week and no
	// limit. They count for the member that makes the stream: one that is there is used as it is.
	MaxAge   time.Duration
	MaxBytes int64

	// Logger is told of connections to the broker and of what is refused; nil is silent.
	Logger *slog.Logger

	timing timing // for tests; zero means defaultTiming
}

// Peer is a neighbor. Addresses are not used: members meet at the broker.
type Peer = transport.Peer

// timing collects every duration of the transport.
type timing struct {
	connect    time.Duration // for one attempt to reach a server
	ping       time.Duration // between keepalives; two without an answer end a connection
	answer     time.Duration // until the broker has confirmed something
	backoffMin time.Duration // before a new attempt at anything
	backoffMax time.Duration
	repeatMin  time.Duration // before the same frame is given to the broker again
	repeatMax  time.Duration
	heartbeat  time.Duration // of the broker while there are no messages
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

// validate reports every fault of a configuration at once.
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

// sealed is what the end of a node's edges needs.
func (c *Config) sealed() sealed.Config {
	return sealed.Config{
		Prefix: "nats", Name: c.Name, Key: c.Key, Peers: c.Peers, Run: c.Run, Fleet: c.Fleet, Hello: c.Hello,
		CheckHello: c.CheckHello, MaxFrame: c.MaxFrame, Logger: c.Logger,
		RepeatMin: c.timing.repeatMin, RepeatMax: c.timing.repeatMax,
	}
}

// schemes are those of URLs.
var schemes = sealed.Schemes{Prefix: "nats", Plain: "nats"}

// CheckURL returns what is wrong with a URL that is meant for [Config.URLs], nil if nothing. The error contains no
// password.
func CheckURL(s string) error { return schemes.Check(s) }

// web reports whether the servers are reached by websockets.
func (c *Config) web() bool { _, web, _ := sealed.Split(c.URLs[0]); return web }

// path is where a proxy before the broker has it.
func (c *Config) path() string { _, _, path := sealed.Split(c.URLs[0]); return path }
