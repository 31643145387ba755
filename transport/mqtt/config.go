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
	"github.com/spade-dfl/spade-edge/transport/internal/endpoint"
	"github.com/spade-dfl/spade-edge/transport/internal/sealed"
)

// defaultMaxAge is how long the broker keeps a frame unless [Config.MaxAge] says otherwise.
const defaultMaxAge = 7 * 24 * time.Hour

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

	// URL is the broker: "tls://host:port", or "wss://host:port/path" for its websocket listener, or the same without
	// TLS, "mqtt://" and "ws://". The port defaults to 8883, to 443 for wss, to 1883 and to 80.
	URL string

	// Proxy is through what the broker is dialed, see [transport.CheckProxy]; nil stands for HTTPS_PROXY of the
	// environment if the URL begins with wss, and else for none. There NO_PROXY excepts.
	Proxy *url.URL

	// Login returns the user and the password for a connection; nil, or an empty user, is for none. TLS returns the
	// configuration of a connection, in which ServerName may be left out; nil stands for the system's authorities. Both
	// are called for each connection, so that files can be replaced; an error counts as a failed attempt.
	Login func() (user, password string, err error)
	TLS   func() (*tls.Config, error)

	// Hello returns what to tell a peer when this node starts, at most 64 KiB; nil sends an empty hello. CheckHello
	// checks the hello of the peer. An error is shown by Peers and refuses nothing by itself: frames carry Fleet. Nil
	// accepts everything. Both are called from several goroutines.
	Hello      func(peer string) []byte
	CheckHello func(peer string, hello []byte) error

	// MaxFrame is the length in bytes of the longest frame to send and to accept, at most 1 GiB; 0 stands for
	// 16 MiB. Neighbors should agree on it. For each peer up to four such frames are held until Recv takes them,
	// and two that are still arriving.
	MaxFrame int

	// MaxAge is how long the broker keeps this node's session while it is away, and the frames it has sent, in whole
	// seconds; 0 stands for a week. A broker may keep them for a shorter time.
	MaxAge time.Duration

	// Logger is told of connections to the broker and of what is refused; nil is silent.
	Logger *slog.Logger

	timing timing                                                                        // for tests; zero means defaultTiming
	direct func(ctx context.Context, network, address string) (conn net.Conn, err error) // for tests; nil means net.Dialer
}

// Peer is a neighbor. Addresses are not used: members meet at the broker.
type Peer = transport.Peer

// timing collects every duration of the transport.
type timing struct {
	connect    time.Duration // for one attempt to reach the broker
	keepAlive  time.Duration // between signs of life; one and a half without one end a connection; whole seconds
	answer     time.Duration // until the broker has confirmed something, beside the time that its bytes need
	steady     time.Duration // a connection that lasts less is a failed attempt
	backoffMin time.Duration // before a new attempt at anything
	backoffMax time.Duration
	repeatMin  time.Duration // before the same frame is given to the broker again
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

// validate reports every fault of a configuration at once.
func (c *Config) validate() error {
	faults := endpoint.Faults{Prefix: "mqtt: config: "}
	common := c.sealed()
	common.Check(&faults)
	if err := CheckURL(c.URL); err != nil {
		faults.Add("URL: %w", err)
	} else if u, _, _ := sealed.Split(c.URL); u.User != nil {
		faults.Add("URL %q has a user in it, want that in Login", u.Redacted())
	}
	faults.CheckProxy(c.Proxy)
	if c.MaxAge < 0 || c.MaxAge > 0 && c.MaxAge < time.Second || c.MaxAge/time.Second > 1<<32-2 {
		faults.Add("MaxAge is %v, want 0 or 1s to %v", c.MaxAge, time.Duration(1<<32-2)*time.Second)
	}
	return faults.Err()
}

// sealed is what the end of a node's edges needs.
func (c *Config) sealed() sealed.Config {
	return sealed.Config{
		Prefix: "mqtt", Name: c.Name, Key: c.Key, Peers: c.Peers, Run: c.Run, Fleet: c.Fleet, Hello: c.Hello,
		CheckHello: c.CheckHello, MaxFrame: c.MaxFrame, Logger: c.Logger,
		RepeatMin: c.timing.repeatMin, RepeatMax: c.timing.repeatMax,
	}
}

// schemes are those of URLs.
var schemes = sealed.Schemes{Prefix: "mqtt", Plain: "mqtt"}

// CheckURL returns what is wrong with a URL that is meant for [Config.URL], nil if nothing. The error contains no
// password.
func CheckURL(s string) error { return schemes.Check(s) }
