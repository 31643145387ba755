package ws

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// slowLine starts a proxy that forwards connections to a node and delays what it reads from each end. It returns the
// proxy's address.
func slowLine(t *testing.T, to node, delay time.Duration) (addr string) {
	t.Helper()
	return forward(t, func(in net.Conn) (near, far net.Conn, err error) {
		time.Sleep(2 * delay) // two one-way delays of the TCP handshake; its last packet arrives with the first bytes
		first := make([]byte, 4<<10)
		n, err := late{in, delay}.Read(first)
		if err != nil {
			return nil, nil, err
		}
		if far, err = net.Dial("tcp", to.listener.Addr().String()); err == nil {
			_, err = far.Write(first[:n])
		}
		return late{in, delay}, late{far, delay}, err
	})
}

// late is a connection that returns each piece of data only after a delay.
type late struct {
	net.Conn
	delay time.Duration
}

func (c late) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	time.Sleep(c.delay)
	return n, err
}

// callers are strangers, or a neighbor that misbehaves, who call a node again and again.
type callers struct {
	name, from string           // from is their loopback address
	rate       int              // calls a second
	call       func(c net.Conn) // what a caller does; nil: nothing
	token      bool             // the neighbor that calls meanwhile has a token
	long       bool             // only with SPADE_LONG
}

// flood makes the calls from four goroutines until stop is called, which returns their number. The newest connections stay
// open.
func (c callers) flood(t *testing.T, to node) (stop func() (made int64)) {
	t.Helper()
	const crowd = 4
	var made atomic.Int64
	ctx, cancel := context.WithCancel(t.Context())
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(c.from)}}
	var all sync.WaitGroup
	for range crowd {
		all.Go(func() {
			var conns []net.Conn
			defer func() {
				for _, c := range conns {
					c.Close()
				}
			}()
			for start, n := time.Now(), 0; ctx.Err() == nil; n++ {
				time.Sleep(time.Until(start.Add(time.Duration(n*crowd) * time.Second / time.Duration(c.rate))))
				conn, err := dialer.DialContext(ctx, "tcp", to.listener.Addr().String())
				if err != nil {
					continue
				}
				conn.(*net.TCPConn).SetLinger(0) // reset on close, otherwise the machine runs out of ports
				conn.SetDeadline(time.Now().Add(patience))
				if c.call != nil {
					c.call(conn)
				}
				made.Add(1)
				if conns = append(conns, conn); len(conns) > 2*handshakeLimit/crowd {
					conns[0].Close()
					conns = conns[1:]
				}
			}
		})
	}
	for made.Load() < int64(c.rate/20) {
		time.Sleep(time.Millisecond)
	}
	return func() int64 { cancel(); all.Wait(); return made.Load() }
}

// handshake returns a call that completes the TLS handshake with the key of a member, sends text, waits for an answer, and
// hangs up.
func handshake(key, text string, tokens func() []string) func(c net.Conn) {
	cert := selfSigned(keyOf(key))
	return func(c net.Conn) {
		cfg := &tls.Config{InsecureSkipVerify: true, Certificates: []tls.Certificate{cert}}
		if tokens != nil {
			cfg.NextProtos = tokens()
		}
		if s := tls.Client(c, cfg); s.Handshake() == nil {
			fmt.Fprint(s, text)
			s.Read(make([]byte, 1)) // waits for the refusal
		}
		c.Close()
	}
}

// TestLimiterUnderFlood checks that a flood of callers costs a bounded amount of memory, keeps a bounded number of
// callers waiting, and does not affect connected peers or lock out a peer that is 100 ms away. That peer has a token and
// connects from the same source, or has no token and connects from another source. The callers send nothing, a part of a
// handshake or nonsense, or complete the handshake with a key that is not pinned; or they are a malicious neighbor with a
// valid token. The following command makes each peer connect ten times, each time within two seconds:
//
//	SPADE_FLOOD=10 go test -run LimiterUnderFlood -v ./transport/ws
func TestLimiterUnderFlood(t *testing.T) {
	times, limit := many(t, "SPADE_FLOOD", 1), patience
	if os.Getenv("SPADE_FLOOD") != "" {
		limit = 2 * time.Second
	}
	var sent bytes.Buffer
	tls.Client(scripted(nil, &sent), &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13}).Handshake()
	hello := sent.Bytes()
	say := func(text []byte) func(net.Conn) { return func(c net.Conn) { c.Write(text) } }
	var turn atomic.Int64
	wrong := []func(net.Conn){handshake("stranger", "", nil), handshake("b", "", nil)} // no peer's key, and the node's own
	all := func(c net.Conn) {
		draw := mathrand.New(mathrand.NewPCG(8, uint64(turn.Add(1))))
		switch soup := make([]byte, 1+draw.IntN(40_000)); draw.IntN(5) {
		case 0:
		case 1:
			c.Write(hello[:draw.IntN(len(hello))])
		case 2:
			for i := range soup {
				soup[i] = byte(draw.Uint32())
			}
			c.Write(soup)
		case 3: // a record that announces a handshake message of 16 MiB
			c.Write([]byte{22, 3, 1, 0x40, 0, 11, 0xff, 0xff, 0xff})
		case 4:
			wrong[draw.IntN(2)](c)
		}
	}
	neighbor := &peer{own: keyOf("c")}
	neighbor.configure(peerOf("b"))
	const ask = "GET / HTTP/1.1\r\nHost: b\r\n\r\n"
	tokens := func() []string { return (&Transport{public: publicOf("c")}).tokens(neighbor) }
	for _, c := range []callers{
		{name: "bare, same source", from: "127.0.0.1", rate: 2000, token: true, long: true},
		{name: "bare, another source", from: "127.0.0.2", rate: 2000, long: true},
		{name: "hellos, same source", from: "127.0.0.1", rate: 2000, call: say(hello), token: true},
		{name: "hellos, another source", from: "127.0.0.2", rate: 2000, call: say(hello)},
		{name: "all kinds", from: "127.0.0.1", rate: 1000, call: all, token: true},
		{name: "a malicious neighbor", from: "127.0.0.1", rate: 500, call: handshake("c", ask, tokens), token: true},
		{name: "a stranger with a neighbor's token", from: "127.0.0.1", rate: 500, call: handshake("stranger", ask, tokens), token: true, long: true},
	} {
		if !long && limit == patience {
			if c.long {
				continue
			}
			c.rate /= 2 // an overloaded machine cannot answer more
		}
		t.Run(c.name, func(t *testing.T) {
			if probe, err := net.Listen("tcp", c.from+":0"); err != nil {
				t.Skip(err) // only Linux has all of 127/8 on loopback
			} else {
				probe.Close()
			}
			for range times {
				c.underFlood(t, limit)
			}
		})
	}
}

// underFlood lets a distant peer connect to a node that has a connected peer, during a flood.
func (c callers) underFlood(t *testing.T, limit time.Duration) {
	b := start(t, "b", quiet, peerOf("a"), peerOf("c"), peerOf("d"))
	d := start(t, "d", nil, peerOf("b"))
	d.reach(t, "b", b.Addr())
	line := slowLine(t, b, 50*time.Millisecond)
	stop := exchangeFrames(t, d, b)
	before := memory()
	strangers := c.flood(t, b)
	begin := time.Now()
	if c.token {
		a := start(t, "a", func(c *Config) { c.timing.backoffMin = defaultTiming.backoffMin }, peerOf("b"))
		a.reach(t, "b", "wss://"+line+"/")
		a.send(t, "b", nil)
	} else {
		raw, err := net.Dial("tcp", line)
		if err != nil {
			t.Fatal(err)
		}
		defer raw.Close()
		raw.SetDeadline(time.Now().Add(patience))
		secure := tls.Client(raw, &tls.Config{InsecureSkipVerify: true, Certificates: []tls.Certificate{selfSigned(keyOf("a"))}})
		if err := secure.Handshake(); err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(secure, request)
		if n, err := secure.Read(make([]byte, 100)); err != nil || n == 0 {
			t.Fatal(err)
		}
	}
	took, most, goroutines := time.Since(begin), memory()-before, len(goroutinesOf())
	b.handshakes.mu.Lock()
	inside := len(b.handshakes.pending[nil])
	b.handshakes.mu.Unlock()
	made := strangers()
	stop()
	t.Logf("in after %v, %d calls, memory %d bytes more than before", took.Round(time.Millisecond), made, most)
	if took > limit {
		t.Errorf("in after %v, want at most %v", took, limit)
	}
	if inside > handshakeLimit || goroutines > 3*handshakeLimit {
		t.Errorf("%d strangers inside, want at most %d; %d goroutines", inside, handshakeLimit, goroutines)
	}
	if want := int64(2 * handshakeLimit * 64 << 10); most > want {
		t.Errorf("memory has grown by %d bytes, want at most %d, 64 KiB for each that is dealt with", most, want)
	}
}

// TestTokenSecret checks that both ends of an edge derive the same secret from their Ed25519 keys, which they convert to
// X25519 keys, and that a key that has no secret half yields none.
func TestTokenSecret(t *testing.T) {
	one, other := tokenSecret(keyOf("a"), publicOf("b")), tokenSecret(keyOf("b"), publicOf("a"))
	if len(one) != 32 || !bytes.Equal(one, other) {
		t.Errorf("secrets %x and %x, want the same 32 bytes", one, other)
	}
	if s := tokenSecret(keyOf("a"), append([]byte{1}, make([]byte, 31)...)); s != nil {
		t.Errorf("secret %x with the neutral element, want none", s)
	}
}

// TestToken checks that a token is accepted only once, only for its own peer and direction, and only while its key is
// pinned.
func TestToken(t *testing.T) {
	b := start(t, "b", nil, peerOf("a", "older", "a"), peerOf("c"))
	a := start(t, "a", nil, peerOf("b"))
	c := start(t, "c", nil, peerOf("a"), peerOf("b"))
	for _, k := range []struct {
		what string
		by   node
		want *peer
	}{{"of a", a, b.peers["a"]}, {"of c", c, b.peers["c"]}} {
		text := k.by.tokens(k.by.peers["b"])
		if got := b.tokenOwner(text); got != k.want {
			t.Errorf("token %s leads to %v, want %v", k.what, got, k.want)
		}
		if got := b.tokenOwner(text); got != nil {
			t.Errorf("token %s serves twice", k.what)
		}
	}
	other := &peer{own: keyOf("a")}
	other.configure(peerOf("c"))
	for what, text := range map[string][]string{
		"for another":     a.tokens(other),
		"of its own":      b.tokens(b.peers["a"]),
		"of nobody":       {tokenPrefix + "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"},
		"with odd digits": {tokenPrefix + "????????????????????????????????"},
		"too short":       {tokenPrefix, ""},
		"behind others":   append(slices.Repeat([]string{tokenPrefix + strings.Repeat("A", 32)}, maxTokens), a.tokens(a.peers["b"])...),
	} {
		if got := b.tokenOwner(text); got != nil {
			t.Errorf("token %s leads to %q", what, got.name)
		}
	}
	text := a.tokens(a.peers["b"])
	if err := b.Update([]Peer{peerOf("a", "newer"), peerOf("c")}); err != nil {
		t.Fatal(err)
	}
	if got := b.tokenOwner(text); got != nil {
		t.Errorf("token with a key that is pinned no more leads to %q", got.name)
	}
}

// TestLimiter checks that the limiter first closes the callers that have proved the least, and among these callers one
// from the source with the most callers.
func TestLimiter(t *testing.T) {
	d := &handshakeLimiter{pending: make(map[*peer][]*caller), slots: make(chan struct{}, 1)}
	from := func(i int) netip.Addr { return sourceOf(netip.AddrFrom4([4]byte{10, 0, 0, byte(i)})) }
	enter := func(i int, met bool) *caller { return d.enter(scripted(nil, nil), from(i), met) }
	alone, met, begun, known := enter(1, false), enter(2, true), enter(2, false), enter(3, false)
	d.begin(begun, nil)
	const crowd = 16 * handshakeLimit
	p := &peer{}
	d.begin(known, p)
	for range crowd {
		enter(3, false)
	}
	for i := range crowd {
		d.begin(enter(4+i%250, false), nil)
	}
	for i, c := range []*caller{alone, met, known} {
		if c.crowded {
			t.Errorf("caller %d is turned away by a crowd from elsewhere, or of those who have begun", i)
		}
	}
	for i := range crowd { // from arbitrary sources
		enter(4+i%250, false)
	}
	if !alone.crowded || !begun.crowded || met.crowded || known.crowded {
		t.Errorf("turned away: who has said nothing %v, has begun %v, comes from a peer's address %v, has a token %v; "+
			"want the first two", alone.crowded, begun.crowded, met.crowded, known.crowded)
	}
	var last *caller
	for range 100 {
		last = enter(5, false)
		d.begin(last, p)
	}
	if len(d.pending[nil]) != handshakeLimit-1 || len(d.pending[p]) != peerLimit || last.crowded || !known.crowded {
		t.Errorf("%d strangers, %d of a peer, want %d and the newest %d", len(d.pending[nil]), len(d.pending[p]), handshakeLimit-1,
			peerLimit)
	}
	if err := d.reason(known, net.ErrClosed); !errors.Is(err, errCrowded) {
		t.Errorf("reason %v, want %v", err, errCrowded)
	}
	d.slots <- struct{}{}
	d.leave(last)
	if len(d.pending[p]) != peerLimit-1 {
		t.Errorf("%d of a peer after one has left, want %d", len(d.pending[p]), peerLimit-1)
	}
}

func TestSourceOf(t *testing.T) {
	for at, want := range map[string]string{
		"192.0.2.7":          "192.0.2.7",
		"::ffff:192.0.2.7":   "192.0.2.7",
		"2001:db8:1:2:3::4":  "2001:db8:1:2::",
		"fe80::1:2:3:4%eth0": "fe80::",
	} {
		if got := sourceOf(netip.MustParseAddr(at)); got.String() != want {
			t.Errorf("source of %s is %v, want %s", at, got, want)
		}
	}
	one, _ := net.Pipe()
	if got := remoteSource(one); got.IsValid() {
		t.Errorf("source of a pipe is %v, want none", got)
	}
	n, err := build(&Config{Name: "n", Key: keyOf("n"), Peers: []Peer{at(peerOf("p"), "host:1", "[2001:db8:1:2::9]:7443")}})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{"2001:db8:1:2::": true, "2001:db8:1:3::": false} {
		if n.meets(netip.MustParseAddr(text)) != want {
			t.Errorf("meets a caller from the peer's network %s: %v", text, !want)
		}
	}
}
