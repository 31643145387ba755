package ws

import (
	"crypto/ed25519"
	"errors"
	"slices"
	"sync"

	"github.com/spade-dfl/spade-edge/transport"
	"github.com/spade-dfl/spade-edge/transport/internal/endpoint"
)

// peer is what the transport knows of a neighbor, connected or not.
type peer struct {
	name string
	dial bool // this end dials

	out     chan []byte   // from Send to the session that has credit
	redial  chan struct{} // a token ends the wait before the next attempt to dial
	traffic traffic       // of all connections

	mu        sync.Mutex
	keys      []ed25519.PublicKey // the slice is never changed, nor is the next
	addresses []address
	session   *session // the one that may read and write frames, or nil
	queued    int      // frames received that Recv has not handed out
	status    transport.PeerStatus
	reported  map[string]bool // failures already logged as warnings

	// The rest belongs to the current session's writer.
	frame  []byte // the one being sent
	resend bool   // the last connection broke while it was being sent
}

// set replaces keys and addresses, which are known to be good. It reports whether they have changed, and returns the
// session that is up.
func (p *peer) set(c transport.Peer) (changed bool, s *session) {
	keys := make([]ed25519.PublicKey, len(c.Keys))
	for i, k := range c.Keys {
		keys[i] = slices.Clone(k)
	}
	addresses, _ := parseAddresses(c.Addresses)
	p.mu.Lock()
	defer p.mu.Unlock()
	changed = !slices.EqualFunc(p.keys, keys, sameKey) || !slices.Equal(p.addresses, addresses)
	p.keys, p.addresses = keys, addresses
	return changed, p.session
}

// where returns the addresses to dial. The slice is never changed.
func (p *peer) where() []address {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.addresses
}

// pins returns the keys that the peer may present. The slice is never changed.
func (p *peer) pins() []ed25519.PublicKey {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.keys
}

func sameKey(a, b ed25519.PublicKey) bool { return a.Equal(b) }

func hasKey(keys []ed25519.PublicKey, key ed25519.PublicKey) bool {
	return slices.ContainsFunc(keys, func(k ed25519.PublicKey) bool { return k.Equal(key) })
}

// enqueue reserves room for a frame and reports whether there is any.
func (p *peer) enqueue() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.queued == window {
		return false
	}
	p.queued++
	return true
}

// dequeue gives back the room of a frame that was not received.
func (p *peer) dequeue() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queued--
}

// received notes that Recv has handed out a frame, and lets the peer send another.
func (p *peer) received() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queued--
	if s := p.session; s != nil {
		if s.grant++; s.grant >= grantAt {
			endpoint.Offer(s.wake, struct{}{})
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
