package ws

import (
	"errors"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"sync"
)

const (
	// handshakeLimit is the maximum number of unauthenticated callers at any time.
	handshakeLimit = 64
	// peerLimit is the maximum number of connections from one peer that still wait for their hellos to be accepted.
	peerLimit = 4
	// keptPlaces is the number of places that the limiter keeps for a source from which a peer has connected before, or
	// in which a peer has an address. While at most this many callers from that source are pending, the limiter closes
	// callers from other sources first.
	keptPlaces = 8
)

// errCrowded is the error for a caller whose connection the limiter closed to make room for others.
var errCrowded = errors.New("too many incoming connections at the same time")

// handshakeLimiter tracks the accepted connections whose hellos have not been accepted yet. Half of the places are for
// callers whose handshake has not begun, and half for other callers. When one half is full, the limiter closes a random
// caller in that half, from the source with the most callers, so that a flood from one source does not take places from
// other sources. A caller that has proved to be a peer, by a token or in TLS, instead uses one of that peer's own
// places.
type handshakeLimiter struct {
	mu      sync.Mutex
	pending map[*peer][]*caller        // by peer, nil for strangers; oldest caller first
	tokens  [seenTokens][tokenLen]byte // the tokens that were accepted last
	next    int                        // where to store the next token in tokens

	// slots holds one token per connection that still has a goroutine, even if the connection is already closed.
	slots chan struct{}
}

// caller is a connection that this node accepted. The limiter's mutex guards all fields except conn.
type caller struct {
	conn    net.Conn
	source  netip.Addr
	met     bool  // a peer has connected from the source before
	begun   bool  // the caller's handshake has begun
	peer    *peer // the peer that the caller proved to be; nil for a stranger
	crowded bool  // the limiter closed the caller because there were too many
	left    bool  // leave was called
}

// sourceOf returns what the limiter treats as one source: an IPv4 address, or the first address of an IPv6 /64 network.
// It is invalid for an invalid address.
func sourceOf(ip netip.Addr) netip.Addr {
	ip = ip.Unmap()
	network, _ := ip.Prefix(min(64, ip.BitLen()))
	return network.Addr()
}

func remoteSource(conn net.Conn) netip.Addr {
	at, _ := conn.RemoteAddr().(*net.TCPAddr)
	return sourceOf(at.AddrPort().Addr())
}

func (d *handshakeLimiter) enter(conn net.Conn, from netip.Addr, met bool) *caller {
	c := &caller{conn: conn, source: from, met: met}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pending[nil] = append(d.pending[nil], c)
	d.makeRoom(c)
	return c
}

// makeRoom checks the half of the places that the new caller uses. If that half is over its limit, makeRoom closes
// another caller in it.
func (d *handshakeLimiter) makeRoom(newest *caller) {
	var total int
	count := make(map[netip.Addr]int)
	for _, c := range d.pending[nil] {
		count[c.source]++
		if c.begun == newest.begun {
			total++
		}
	}
	if total <= handshakeLimit/2 {
		return
	}
	worst, most := -1, 0
	for _, i := range rand.Perm(len(d.pending[nil])) { // choose randomly among callers of equal weight
		c := d.pending[nil][i]
		weight := count[c.source]
		if c.met && weight <= keptPlaces {
			weight = 0
		}
		if c != newest && c.begun == newest.begun && (worst < 0 || weight > most) {
			worst, most = i, weight
		}
	}
	d.crowd(nil, worst)
}

func (d *handshakeLimiter) crowd(of *peer, i int) {
	c := d.pending[of][i]
	c.crowded = true
	c.conn.Close()
	d.remove(c)
}

// begin records that a caller's handshake has begun. p is the peer whose valid token the caller sent, or nil if the
// caller sent no valid token.
func (d *handshakeLimiter) begin(c *caller, p *peer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if c.crowded || c.peer != nil && c.peer == p {
		return
	}
	if p == nil {
		c.begun = true
		d.makeRoom(c)
		return
	}
	d.remove(c)
	c.peer = p
	d.pending[p] = append(d.pending[p], c)
	if len(d.pending[p]) > peerLimit {
		d.crowd(p, 0)
	}
}

// first records that a valid token was used. It returns false if the token was used before.
func (d *handshakeLimiter) first(token [tokenLen]byte) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if slices.Contains(d.tokens[:], token) {
		return false
	}
	d.tokens[d.next] = token
	d.next = (d.next + 1) % seenTokens
	return true
}

func (d *handshakeLimiter) remove(c *caller) {
	d.pending[c.peer] = slices.DeleteFunc(d.pending[c.peer], func(o *caller) bool { return o == c })
}

// leave records that a caller has disconnected or that its session has begun. Further calls do nothing.
func (d *handshakeLimiter) leave(c *caller) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !c.left {
		c.left = true
		d.remove(c)
		<-d.slots
	}
}

// reason returns why a caller's handshake failed: errCrowded if the limiter closed the connection, and otherwise err,
// the error of the connection.
func (d *handshakeLimiter) reason(c *caller, err error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if c.crowded {
		return errCrowded
	}
	return err
}
