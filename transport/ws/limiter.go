package ws

import (
	"errors"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
)

const (
	// handshakeLimit is how many strangers may be on their way to being authenticated at a time.
	handshakeLimit = 64
	// peerLimit is how many connections of one peer may be on their way to a hello that fits.
	peerLimit = 4
	// keptPlaces is for how many callers of one source it counts that a peer was met there.
	keptPlaces = 8
)

// errCrowded is why a caller was turned away before it could show anything.
var errCrowded = errors.New("too many callers at a time")

// handshakeLimiter holds the connections that have no fitting hello yet. Half of the places are for callers that have
// said nothing: a peer needs one for a moment. When a half is full, a random caller of the source with the most callers
// is closed: a flood from one source takes no place of another. A caller that proved to be a peer, by a token or in TLS,
// counts for that peer alone.
type handshakeLimiter struct {
	mu      sync.Mutex
	pending map[*peer][]*caller        // oldest first: at most peerLimit of each, and at most handshakeLimit strangers, of nil
	tokens  [seenTokens][tokenLen]byte // accepted last
	next    int                        // where in tokens the next one goes

	// slots has a token for each connection that a goroutine still works on, closed ones included.
	slots chan struct{}
}

// caller is a connection that this end has accepted. All but conn is guarded by the limiter's mutex.
type caller struct {
	conn    net.Conn
	source  source
	met     bool  // a peer has been met at the source
	begun   bool  // its handshake has begun
	peer    *peer // whose token or key it has shown; nil for a stranger
	crowded bool  // it was closed for want of room
}

// source stands for the addresses that count as one: an address of IPv4, and of IPv6 the 64 bits that a network has to
// itself. It is empty if there is none.
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

// makeRoom turns another stranger away if there are too many that have said as much as one.
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
	for _, i := range rand.Perm(len(d.pending[nil])) { // any of equals
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

// crowd turns a caller away.
func (d *handshakeLimiter) crowd(of *peer, i int) {
	c := d.pending[of][i]
	c.crowded = true
	c.conn.Close()
	d.remove(c)
}

// begin notes that a caller's handshake has begun, with a token of peer p unless p is nil.
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

// first reports whether a valid token is used for the first time.
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

// remove takes a caller out of where it is counted.
func (d *handshakeLimiter) remove(c *caller) {
	d.pending[c.peer] = slices.DeleteFunc(d.pending[c.peer], func(o *caller) bool { return o == c })
}

// leave says that a caller has gone, or has become a session.
func (d *handshakeLimiter) leave(c *caller) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.remove(c)
	<-d.slots
}

// reason returns why a caller's handshake has failed, if err is what its connection says.
func (d *handshakeLimiter) reason(c *caller, err error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if c.crowded {
		return errCrowded
	}
	return err
}
