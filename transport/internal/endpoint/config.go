package endpoint

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/url"
	"slices"
	"time"

	"github.com/spade-dfl/spade-edge/transport"
)

const (
	// DefaultMaxFrame is the default for the maximum length of a frame, in bytes.
	DefaultMaxFrame = 16 << 20

	// LargestMaxFrame is the largest valid setting for the maximum length of a frame, in bytes. It ensures that every
	// length fits into an int on 32-bit machines.
	LargestMaxFrame = 1 << 30

	// Window is the number of received frames from one peer that may wait for Recv. It is enough for the messages of
	// two rounds and one repeat of each message.
	Window = 4

	// MaxHello is the maximum length of a hello, in bytes.
	MaxHello = 64 << 10
)

// Faults collects the errors in a configuration so that all of them can be reported at once.
type Faults struct {
	Prefix string // prefix of each error
	list   []error
}

func (f *Faults) Add(format string, args ...any) {
	f.list = append(f.list, fmt.Errorf(f.Prefix+format, args...))
}

// Err returns all errors joined into one, or nil if there are none.
func (f *Faults) Err() error { return errors.Join(f.list...) }

// CheckProxy checks the URL of the proxy for outgoing connections. A nil URL is valid.
func (f *Faults) CheckProxy(proxy *url.URL) {
	if proxy == nil {
		return
	}
	if err := transport.CheckProxy(proxy); err != nil {
		f.Add("Proxy: %w", err)
	}
}

// CheckNode checks a node's own name, its secret key, and its maximum frame length in bytes. It returns the public key,
// or nil if the secret key is invalid.
func (f *Faults) CheckNode(name string, key ed25519.PrivateKey, maxFrame int) (public ed25519.PublicKey) {
	if name == "" {
		f.Add("Name is empty")
	}
	switch {
	case len(key) != ed25519.PrivateKeySize:
		f.Add("Key has %d bytes, want an Ed25519 private key of %d", len(key), ed25519.PrivateKeySize)
	case !ed25519.NewKeyFromSeed(key.Seed()).Equal(key):
		f.Add("Key: the public half does not match the secret half")
	default:
		public = key.Public().(ed25519.PublicKey)
	}
	if maxFrame < 0 || maxFrame > LargestMaxFrame {
		f.Add("MaxFrame is %d, want 0 to %d", maxFrame, LargestMaxFrame)
	}
	return public
}

// CheckPeers checks the names and keys of a node's peers. own is the node's public key, or nil if it is unknown.
func (f *Faults) CheckPeers(name string, own ed25519.PublicKey, peers []transport.Peer) {
	owner := make(map[string]string) // by public key
	if own != nil {
		owner[string(own)] = name
	}
	seen := make(map[string]bool)
	for i, p := range peers {
		switch {
		case p.Name == "":
			f.Add("peer %d has no name", i)
		case p.Name == name:
			f.Add("peer %d has the node's own name, %q", i, p.Name)
		case seen[p.Name]:
			f.Add("peer %q is listed twice", p.Name)
		}
		seen[p.Name] = true
		if len(p.Keys) < 1 || len(p.Keys) > 2 {
			f.Add("peer %q has %d keys, want 1 or 2", p.Name, len(p.Keys))
		}
		for j, k := range p.Keys {
			if _, err := ExchangePublic(k); err != nil {
				f.Add("peer %q: key %d: %w", p.Name, j, err)
				continue
			}
			if o, ok := owner[string(k)]; ok {
				f.Add("peer %q: key %d, %s, is also a key of %q", p.Name, j, transport.FormatKey(k), o)
			}
			owner[string(k)] = p.Name
		}
	}
}

// CheckSame records an error unless peers has the same names as known, the sorted names of the peers with which the node
// was created.
func (f *Faults) CheckSame(known []string, peers []transport.Peer) {
	var names []string
	for _, p := range peers {
		names = append(names, p.Name)
	}
	if slices.Sort(names); !slices.Equal(names, known) {
		f.Add("the peers are %q, want %q: the set of peers cannot change", names, known)
	}
}

// Hello returns what the application's function makes for a peer, or an empty hello if the function is nil. It fails if
// the hello is too long.
func Hello(application func(peer string) []byte, peer string) (hello []byte, err error) {
	if application != nil {
		hello = application(peer)
	}
	if len(hello) > MaxHello {
		return nil, fmt.Errorf("this node's hello has %d bytes, want at most %d", len(hello), MaxHello)
	}
	return hello, nil
}

// AnyHello accepts every hello.
func AnyHello(string, []byte) error { return nil }

// Jitter returns a random duration between d/2 and d, so that the nodes do not all reconnect at the same moment.
func Jitter(d time.Duration) time.Duration { return d/2 + rand.N(d/2+1) }

// Level returns the level at which to log a problem: Warn for the first occurrence, and a lower level for repetitions,
// so that they do not fill the log.
func Level(repeated bool) slog.Level {
	if repeated {
		return slog.LevelDebug
	}
	return slog.LevelWarn
}
