package ws

import (
	"errors"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
)

const (
	// handshakeLimit is the maximum number of unauthenticated callers at a time.
	handshakeLimit = 64
	// peerLimit is the maximum number of connections of one peer without an accepted hello.
	peerLimit = 4
	// keptPlaces is the number of pending callers up to which a source is protected if a peer has connected from it.
	keptPlaces = 8
)

// errCrowded is the reason to close a caller before it could prove anything.
var errCrowded = errors.New("too many callers at a time")

// handshakeLimiter holds the connections without an accepted hello. Half of the places are for callers that have not
// sent anything yet. When a half is full, the limiter closes a random caller of the source with the most callers, so a
// flood from one source takes no place from another. A caller that proved to be a peer, by a token or in TLS, counts for
// that peer alone.
type handshakeLimiter struct {
	mu      sync.Mutex
	pending map[*peer][]*caller        // oldest first: at most peerLimit for each peer, and at most handshakeLimit strangers, under nil
	tokens  [seenTokens][tokenLen]byte // the most recently accepted
	next    int                        // index in tokens of the next one

	// slots has a token for each connection that still has a goroutine, including closed ones.
	slots chan struct{}
}

// caller is a connection that this end accepted. The limiter's mutex guards all fields but conn.
type caller struct {
	conn    net.Conn
	source  source
	met     bool  // a peer has been met at the source
	begun   bool  // its handshake has begun
	peer    *peer // the peer whose token or key it proved; nil for a stranger
	crowded bool  // it was closed because there were too many
}

// source identifies the addresses that count as one: an IPv4 address, or an IPv6 /64 network. It is empty for a
// caller without an IP address.
type source string

func sourceOf(a net.Addr) source {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return ""
	}
	return sourceOfIP(tcp.IP)
}

func sourceOfIP(ip net.IP) source {
	if short := ip.To4(); short != nil {
		return source(short)
	}
	return source(ip[:min(8, len(ip))])
}

func (d *handshakeLimiter) enter(conn net.Conn, from source, met bool) *caller {
	c := &caller{conn: conn, source: from, met: met}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pending[nil] = append(d.pending[nil], c)
	d.makeRoom(c)
	return c
}

// makeRoom closes another stranger if there are too many in the same half as newest.
func (d *handshakeLimiter) makeRoom(newest *caller) {
	var total int
	count := make(map[source]int)
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
	for _, i := range rand.Perm(len(d.pending[nil])) { // random among equals
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

// begin records that a caller's handshake has begun, with a token of peer p unless p is nil.
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

// first records a valid token and reports whether it is used for the first time.
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

// remove removes a caller from the counts.
func (d *handshakeLimiter) remove(c *caller) {
	d.pending[c.peer] = slices.DeleteFunc(d.pending[c.peer], func(o *caller) bool { return o == c })
}

// leave records that a caller is gone, or has become a session.
func (d *handshakeLimiter) leave(c *caller) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.remove(c)
	<-d.slots
}

// reason returns why a caller's handshake failed; err is the error of its connection.
func (d *handshakeLimiter) reason(c *caller, err error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if c.crowded {
		return errCrowded
	}
	return err
}
