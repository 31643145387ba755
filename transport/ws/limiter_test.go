package ws

import (
	"bytes"
	"context"
	"crypto/ecdh"
	"crypto/ed25519"
	"crypto/sha512"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// slowLine starts a proxy that forwards connections to a node and delays data in each direction. It returns the proxy's
// address.
func slowLine(t *testing.T, to node, delay time.Duration) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	t.Cleanup(func() { cancel(); l.Close(); wg.Wait() })
	type piece struct {
		due  time.Time
		data []byte
	}
	carry := func(src net.Conn, to <-chan net.Conn) {
		pieces := make(chan piece, 1000)
		wg.Go(func() {
			dst, ok := <-to
			for p := range pieces {
				if ok {
					time.Sleep(time.Until(p.due))
					dst.Write(p.data) // a write error recurs in the other direction
				}
			}
			if ok {
				dst.Close()
			}
		})
		defer close(pieces)
		for {
			buf := make([]byte, 16<<10)
			n, err := src.Read(buf)
			if err != nil {
				return
			}
			pieces <- piece{time.Now().Add(delay), buf[:n]}
		}
	}
	wg.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				there, here := make(chan net.Conn, 1), make(chan net.Conn, 1)
				defer close(there)
				wg.Go(func() { carry(in, there) })
				time.Sleep(3 * delay) // three one-way delays of the TCP handshake; its last packet arrives with the first byte
				out, err := net.Dial("tcp", to.listener.Addr().String())
				if err != nil {
					in.Close()
					return
				}
				defer context.AfterFunc(ctx, func() { in.Close(); out.Close() })()
				there <- out
				here <- in
				carry(out, here)
			})
		}
	})
	return l.Addr().String()
}

// flood opens bare TCP connections from the given loopback address to a node, at the given rate per second, until stop
// is called. On each connection it sends the bytes in the parameter "say". The function stop returns the number of
// connections made.
func flood(t *testing.T, to node, from string, rate int, say []byte) (stop func() (made int64)) {
	t.Helper()
	var made atomic.Int64
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan struct{})
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	go func() {
		defer close(over)
		var conns []net.Conn
		defer func() {
			for _, c := range conns {
				c.Close()
			}
		}()
		for start := time.Now(); ctx.Err() == nil; {
			if due := int64(time.Since(start).Seconds() * float64(rate)); made.Load() >= due {
				time.Sleep(time.Millisecond)
				continue
			}
			c, err := dialer.DialContext(ctx, "tcp", to.listener.Addr().String())
			if err != nil {
				continue
			}
			c.(*net.TCPConn).SetLinger(0) // reset on close, otherwise the machine runs out of ports
			c.Write(say)
			made.Add(1)
			if conns = append(conns, c); len(conns) > 2*handshakeLimit {
				conns[0].Close()
				conns = conns[1:]
			}
		}
	}()
	for made.Load() < 2*handshakeLimit {
		time.Sleep(time.Millisecond)
	}
	return func() int64 { cancel(); <-over; return made.Load() }
}

func helloOf(cfg *tls.Config) []byte {
	var hello bytes.Buffer
	cfg.InsecureSkipVerify, cfg.MinVersion = true, tls.VersionTLS13
	tls.Client(&recorder{Writer: &hello}, cfg).Handshake()
	return hello.Bytes()
}

// TestLimiterUnderFlood checks that a flood from one source does not lock out a peer that is 100 ms away. The peer has
// a token and connects from the same source, or has no token and connects from another source. The following command
// makes each peer connect ten times, each time within two seconds:
//
//	SPADE_FLOOD=10 go test -run LimiterUnderFlood -v ./transport/ws
func TestLimiterUnderFlood(t *testing.T) {
	times, limit := 1, patience
	if s, ok := os.LookupEnv("SPADE_FLOOD"); ok {
		if _, err := fmt.Sscan(s, &times); err != nil {
			t.Fatal(err)
		}
		limit = 2 * time.Second
	}
	for _, c := range []struct {
		name, from string
		hello      []byte
		token      bool
	}{
		{"bare, same source", "127.0.0.1", nil, true},
		{"hellos, same source", "127.0.0.1", helloOf(new(tls.Config)), true},
		{"bare, another source", "127.0.0.2", nil, false},
		{"hellos, another source", "127.0.0.2", helloOf(new(tls.Config)), false},
	} {
		if !long && limit == patience && c.hello == nil {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			probe, err := net.Listen("tcp", c.from+":0")
			if err != nil {
				t.Skip(err) // only Linux has all of 127/8 on loopback
			}
			probe.Close()
			for range times {
				b := start(t, "b", quiet, peerOf("a"))
				line := slowLine(t, b, 50*time.Millisecond)
				stop := flood(t, b, c.from, 2000, c.hello)
				begin := time.Now()
				if c.token {
					a := start(t, "a", func(c *Config) { c.timing.backoffMin = defaultTiming.backoffMin }, peerOf("b"))
					a.reach(t, "b", "wss://"+line+"/")
					a.send(t, "b", []byte("in"))
					b.expect(t, "a", []byte("in"))
				} else {
					raw, err := net.Dial("tcp", line)
					if err != nil {
						t.Fatal(err)
					}
					defer raw.Close()
					raw.SetDeadline(time.Now().Add(patience))
					secure := tls.Client(raw, &tls.Config{InsecureSkipVerify: true,
						Certificates: []tls.Certificate{certificateOf(keyOf("a"))}})
					if err := secure.Handshake(); err != nil {
						t.Fatal(err)
					}
					fmt.Fprint(secure, request)
					if n, err := secure.Read(make([]byte, 100)); err != nil || n == 0 {
						t.Fatal(err)
					}
				}
				took := time.Since(begin)
				t.Logf("in after %v, %d strangers", took.Round(time.Millisecond), stop())
				if took > limit {
					t.Errorf("in after %v, want at most %v", took, limit)
				}
			}
		})
	}
}

// TestTokenSecret checks that both ends of an edge derive the same secret from their Ed25519 keys, which are converted
// to X25519 keys.
func TestTokenSecret(t *testing.T) {
	a, b := keyOf("a"), keyOf("b")
	one, other := tokenSecret(a, publicOf("b")), tokenSecret(b, publicOf("a"))
	if len(one) != 32 || !bytes.Equal(one, other) {
		t.Errorf("secrets %x and %x, want the same 32 bytes", one, other)
	}
	// Converting the Ed25519 public key must yield the same X25519 public key as deriving it from the converted private
	// key.
	hash := sha512.Sum512(b.Seed())
	theirs, _ := ecdh.X25519().NewPrivateKey(hash[:32])
	hash = sha512.Sum512(a.Seed())
	ours, _ := ecdh.X25519().NewPrivateKey(hash[:32])
	want, err := ours.ECDH(theirs.PublicKey())
	if err != nil || !bytes.Equal(one, want) {
		t.Errorf("secret %x, want %x, error %v", one, want, err)
	}
	identity := make(ed25519.PublicKey, 32)
	identity[0] = 1
	if s := tokenSecret(a, identity); s != nil {
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
	from := func(i int) netip.Prefix { return sourceOf(netip.AddrFrom4([4]byte{10, 0, 0, byte(i)})) }
	enter := func(i int, met bool) *caller { return d.enter(&script{}, from(i), met) }
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
		"192.0.2.7":          "192.0.2.7/32",
		"::ffff:192.0.2.7":   "192.0.2.7/32",
		"2001:db8:1:2:3::4":  "2001:db8:1:2::/64",
		"fe80::1:2:3:4%eth0": "fe80::/64",
	} {
		if got := sourceOf(netip.MustParseAddr(at)); got.String() != want {
			t.Errorf("source of %s is %v, want %s", at, got, want)
		}
	}
	one, _ := net.Pipe()
	if got := remoteSource(one); got.IsValid() {
		t.Errorf("source of a pipe is %v, want none", got)
	}
}
