package nats

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"time"

	client "github.com/nats-io/nats.go"

	"github.com/spade-dfl/spade-edge/transport"
)

const (
	// DefaultMaxFrame is the longest frame, in bytes, that a transport takes unless [Config.MaxFrame] says otherwise.
	DefaultMaxFrame = 16 << 20

	// DefaultMaxAge is how long the broker keeps a frame unless [Config.MaxAge] says otherwise.
	DefaultMaxAge = 7 * 24 * time.Hour

	// largestMaxFrame keeps every length an int on 32-bit machines.
	largestMaxFrame = 1 << 30

	// window is how many frames of one member may wait for another, at the broker and again before Recv: the messages of two rounds
	// and a repeat of each.
	window = 4

	// maxHello is the longest hello in bytes.
	maxHello = 64 << 10

	// maxPiece is the longest piece of a frame in one envelope, in bytes.
	maxPiece = 256 << 10

	// spare is what has to be left of a broker's longest message for what is around a piece.
	spare = 1 << 10
)

// Config says who a node is, whom it talks to, and where they meet.
type Config struct {
	// Name is the member's own name.
	Name string

	// Key is the member's own secret key. Peers know it by its public half.
	Key ed25519.PrivateKey

	// Peers are the neighbors, in any order. There need not be any.
	Peers []Peer

	// Run names the run. Members of one run meet at a broker because they have the same, and it must never be used again for
	// another: what the broker has kept of the first would be taken for the second's.
	Run string

	// Fleet is a hash of what all members have to agree on. A frame from a peer that has another is refused.
	Fleet [32]byte

	// URLs are servers of one broker, "tls://host:port" or "nats://host:port", with user and password if it wants them; the port
	// defaults to 4222. No other server is connected to, whatever these say.
	URLs []string

	// Options are further options for the broker's client, such as client.UserCredentials or client.RootCAs. They may not touch
	// what happens when a connection ends.
	Options []client.Option

	// Hello returns what to tell a peer when this node starts, at most 64 KiB; nil sends an empty hello. CheckHello judges what
	// the peer told. An error is shown by [Transport.Peers] and refuses nothing by itself: frames bear Fleet. Nil accepts
	// everything. Both are called from several goroutines.
	Hello      func(peer string) []byte
	CheckHello func(peer string, hello []byte) error

	// MaxFrame is the length in bytes of the longest frame to send and to accept, at most 1 GiB; 0 stands for
	// [DefaultMaxFrame]. Neighbors should agree on it. For each peer up to four such frames are held until Recv takes them,
	// and two that are still arriving.
	MaxFrame int

	// MaxAge is how long the broker keeps a frame, and MaxBytes how many bytes of a run; 0 stands for [DefaultMaxAge] and no limit.
	// They count for whoever meets the broker first: what is there is taken as it is.
	MaxAge   time.Duration
	MaxBytes int64

	// Logger is told of connections to the broker and of what is refused; nil is silent.
	Logger *slog.Logger

	timing timing // for tests; zero means defaultTiming
}

// Peer is a neighbor.
type Peer = transport.Peer

// timing collects every duration of the transport.
type timing struct {
	connect    time.Duration // for one attempt to reach a server
	ping       time.Duration // between signs of life; two without an answer end a connection
	answer     time.Duration // until the broker has confirmed something
	backoffMin time.Duration // before a new attempt at anything
	backoffMax time.Duration
	repeatMin  time.Duration // before the same frame is given to the broker again
	repeatMax  time.Duration
	beat       time.Duration // signs of life in waiting for messages
}

var defaultTiming = timing{
	connect:    15 * time.Second,
	ping:       30 * time.Second,
	answer:     15 * time.Second,
	backoffMin: 250 * time.Millisecond,
	backoffMax: 30 * time.Second,
	repeatMin:  time.Second / 2,
	repeatMax:  time.Minute,
	beat:       15 * time.Second,
}

// validate reports every fault of a configuration at once.
func (c *Config) validate() error {
	var errs []error
	fault := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("nats: config: "+format, args...))
	}
	if c.Name == "" {
		fault("Name is empty")
	}
	if c.Run == "" {
		fault("Run is empty")
	}
	var own ed25519.PublicKey
	switch {
	case len(c.Key) != ed25519.PrivateKeySize:
		fault("Key has %d bytes, want an Ed25519 private key of %d", len(c.Key), ed25519.PrivateKeySize)
	case !ed25519.NewKeyFromSeed(c.Key.Seed()).Equal(c.Key):
		fault("Key: the public half does not belong to the secret half")
	default:
		own = c.Key.Public().(ed25519.PublicKey)
	}
	if len(c.URLs) == 0 {
		fault("URLs is empty, want tls://host:port or nats://host:port")
	}
	for i, s := range c.URLs {
		if err := CheckURL(s); err != nil {
			fault("URLs[%d]: %w", i, err)
		}
	}
	if c.MaxFrame < 0 || c.MaxFrame > largestMaxFrame {
		fault("MaxFrame is %d, want 0 to %d", c.MaxFrame, largestMaxFrame)
	}
	if c.MaxAge < 0 || c.MaxAge > 0 && c.MaxAge < time.Second {
		fault("MaxAge is %v, want 0 or at least 1s", c.MaxAge)
	}
	if c.MaxBytes < 0 {
		fault("MaxBytes is %d, want 0 or more", c.MaxBytes)
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
		if len(p.Keys) < 1 || len(p.Keys) > maxKeys {
			fault("peer %q has %d keys, want 1 or 2", p.Name, len(p.Keys))
		}
		for j, k := range p.Keys {
			if _, err := exchangePublic(k); err != nil {
				fault("peer %q: key %d: %w", p.Name, j, err)
				continue
			}
			if o, ok := owner[string(k)]; ok {
				fault("peer %q: key %d is also a key of %q", p.Name, j, o)
			}
			owner[string(k)] = p.Name
		}
	}
}

// CheckURL says what is wrong with a URL that is meant for [Config.URLs]; nil if there can be a broker. What it says has no
// password in it.
func CheckURL(s string) error {
	u, err := url.Parse(s)
	if err != nil {
		return errors.New("nats: it is no URL, want tls://host:port or nats://host:port") // the error of Parse has all of it
	}
	if u.Scheme != "tls" && u.Scheme != "nats" || u.Hostname() == "" || u.Fragment != "" || u.RawQuery != "" || strings.Trim(u.Path, "/") != "" {
		return fmt.Errorf("nats: URL %q, want tls://host:port or nats://host:port", u.Redacted())
	}
	return nil
}

// exposed reports whether a URL leads to another machine without TLS.
func exposed(s string) bool {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "nats" {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback())
}

// redacted returns a URL without its password.
func redacted(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return ""
	}
	return u.Redacted()
}
