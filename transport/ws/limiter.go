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
	// peerLimit is the maximum number of connections of one peer whose hello has not been accepted yet.
	peerLimit = 4
	// keptPlaces is how many pending callers of one source are safe from being closed, if a peer has connected from that
	// source.
	keptPlaces = 8
)

// errCrowded is why the limiter closes a caller that has not proved anything yet.
var errCrowded = errors.New("too many callers at the same time")

// handshakeLimiter tracks the connections whose hello has not been accepted yet. Half of the places are for callers
// that have not sent anything. When one half is full, the limiter closes a random caller in that half, from the source
// with the most callers, so a flood from one source takes no place from other sources. A caller that has proved to be a
// peer, by a token or in TLS, counts only against the places of that peer.
type handshakeLimiter struct {
	mu      sync.Mutex
	pending map[*peer][]*caller        // by peer, nil for strangers; oldest caller first
	tokens  [seenTokens][tokenLen]byte // the tokens that were accepted last
	next    int                        // where to store the next token in tokens

	// slots has a token for each connection that still has a goroutine, even if the connection is closed.
	slots chan struct{}
}

// caller is a connection that this end accepted. The limiter's mutex guards all fields but conn.
type caller struct {
	conn    net.Conn
	source  source
	met     bool  // a peer has connected from the source before
	begun   bool  // the caller's handshake has begun
	peer    *peer // the peer that the caller proved to be; nil for a stranger
	crowded bool  // the limiter closed the caller because there were too many
}

// source identifies a set of addresses that count as one caller: an IPv4 address, or an IPv6 /64 network. It is empty
// for a caller without an IP address.
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

// makeRoom checks the half of the places to which the stranger newest belongs. If that half is over its limit, makeRoom
// closes another stranger in it.
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

// begin records that a caller's handshake has begun. p is the peer whose valid token it sent, or nil.
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

// first remembers a valid token. It returns false if the token was used before.
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

// leave records that a caller has disconnected or has become a session.
func (d *handshakeLimiter) leave(c *caller) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.remove(c)
	<-d.slots
}

// reason returns why a caller's handshake failed, where err is the error of its connection.
func (d *handshakeLimiter) reason(c *caller, err error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if c.crowded {
		return errCrowded
	}
	return err
}
