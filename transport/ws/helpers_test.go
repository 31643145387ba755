package ws

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// long reports whether the environment variable SPADE_LONG is set, as in the full check .ci/run. If so, tests run all
// their cases.
var long = os.Getenv("SPADE_LONG") != ""

// fast is a timing with short waits, and with time limits that tests meet even on a slow machine.
var fast = timing{
	handshake:  patience,
	keepalive:  10 * time.Millisecond,
	idle:       patience,
	linger:     patience,
	backoffMin: time.Millisecond,
	backoffMax: 20 * time.Millisecond,
}

// patience is the time limit for every wait in a test.
const patience = time.Minute

func patient(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

func keyOf(name string) ed25519.PrivateKey {
	seed := sha256.Sum256([]byte(name))
	return ed25519.NewKeyFromSeed(seed[:])
}

func publicOf(name string) ed25519.PublicKey { return keyOf(name).Public().(ed25519.PublicKey) }

// peerOf returns a peer with the given name and the keys of the members listed in keys. If keys is empty, the peer has
// the key of the member with its own name.
func peerOf(name string, keys ...string) Peer {
	p := Peer{Name: name}
	if len(keys) == 0 {
		keys = []string{name}
	}
	for _, k := range keys {
		p.Keys = append(p.Keys, publicOf(k))
	}
	return p
}

// logbook records log lines.
type logbook struct {
	mu      sync.Mutex
	text    bytes.Buffer
	changed chan struct{}
}

func newLogbook() *logbook { return &logbook{changed: make(chan struct{})} }

func (l *logbook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.changed)
	l.changed = make(chan struct{})
	return l.text.Write(p)
}

// await waits until a log line contains all the given words, and returns the line.
func (l *logbook) await(t *testing.T, words ...string) string {
	t.Helper()
	return l.awaitCount(t, 1, words...)
}

// awaitCount waits until so many log lines contain all the given words, and returns the last of them.
func (l *logbook) awaitCount(t *testing.T, count int, words ...string) string {
	t.Helper()
	deadline := time.After(patience)
	for {
		l.mu.Lock()
		text, changed, left := l.text.String(), l.changed, count
		l.mu.Unlock()
	lines:
		for line := range strings.Lines(text) {
			for _, w := range words {
				if !strings.Contains(line, w) {
					continue lines
				}
			}
			if left--; left == 0 {
				return line
			}
		}
		select {
		case <-changed:
		case <-deadline:
			t.Fatalf("not %d log lines with %q in:\n%s", count, words, text)
		}
	}
}

func (l *logbook) count(word string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), word)
}

// running is the number of open nodes. It needs no lock, because the tests in this package do not run in parallel.
var running int

type node struct {
	*Transport
	log *logbook
}

// start starts a node that listens on the loopback interface. When the test ends, it closes the node and checks that no
// goroutine is left.
func start(t *testing.T, name string, change func(*Config), peers ...Peer) node {
	t.Helper()
	book := newLogbook()
	cfg := Config{
		Name:   name,
		Key:    keyOf(name),
		Listen: "127.0.0.1:0",
		Peers:  peers,
		Logger: slog.New(slog.NewTextHandler(book, nil)),
		timing: fast,
	}
	if change != nil {
		change(&cfg)
	}
	tr, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	running++
	t.Cleanup(func() {
		if err := tr.Close(); err != nil {
			t.Error(err)
		}
		if running--; running == 0 {
			noGoroutines(t)
		}
	})
	return node{tr, book}
}

// pair starts two nodes: "a" dials and "b" listens. The functions changeA and changeB may change the configurations of
// "a" and "b"; either function may be nil.
func pair(t *testing.T, changeA, changeB func(*Config)) (a, b node) {
	t.Helper()
	b = start(t, "b", changeB, peerOf("a"))
	a = start(t, "a", changeA, peerOf("b"))
	a.reach(t, "b", b.Addr())
	return a, b
}

func (n node) reach(t *testing.T, peer string, addresses ...string) {
	t.Helper()
	if err := giveAddresses(n.Transport, peer, addresses...); err != nil {
		t.Fatal(err)
	}
}

func giveAddresses(tr *Transport, peer string, addresses ...string) error {
	var peers []Peer
	for _, p := range tr.sorted {
		c := p.config.Load().Peer
		if p.name == peer {
			c.Addresses = addresses
		}
		peers = append(peers, c)
	}
	return tr.Update(peers)
}

func (n node) send(t *testing.T, to string, frame []byte) {
	t.Helper()
	if err := n.Send(patient(t), to, frame); err != nil {
		t.Fatal(err)
	}
}

func (n node) expect(t *testing.T, from string, frame []byte) {
	t.Helper()
	f, b, err := n.Recv(patient(t))
	if err != nil {
		t.Fatal(err)
	}
	if f != from || !bytes.Equal(b, frame) {
		t.Fatalf("received %d bytes %.20q from %q, want %d bytes %.20q from %q", len(b), b, f, len(frame), frame, from)
	}
}

// goroutinesOf returns the stacks of all goroutines of transports.
func goroutinesOf() (all []string) {
	buf := make([]byte, 4<<20)
	for g := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		if strings.Contains(g, "ws.(*Transport)") || strings.Contains(g, "ws.(*session)") || strings.Contains(g, "nhooyr.io/websocket") {
			all = append(all, g)
		}
	}
	return all
}

// noGoroutines checks that no goroutine of a transport is left. It retries because, although Close waits for all
// goroutines, a goroutine still exists for a moment after its last statement.
func noGoroutines(t *testing.T) {
	t.Helper()
	var left []string
	for range 200 {
		if left = goroutinesOf(); len(left) == 0 {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Errorf("goroutines left:\n%s", strings.Join(left, "\n\n"))
}

// raw is a test's end of a connection to a node. It can send data that a correct peer would not send.
type raw struct {
	*conn
	tls *tls.Conn
}

// dialTLS opens a TLS connection to a node and presents the certificate of the member keyName, or no certificate if
// keyName is empty.
func dialTLS(t *testing.T, to node, keyName string, change func(*tls.Config)) (*tls.Conn, link, error) {
	t.Helper()
	c, err := net.Dial("tcp", to.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(patience))
	cfg := &tls.Config{InsecureSkipVerify: true}
	if keyName != "" {
		cert := selfSigned(keyOf(keyName))
		cfg.Certificates = []tls.Certificate{cert}
	}
	if change != nil {
		change(cfg)
	}
	tcp := newTCP(c)
	secure := tls.Client(tcp, cfg)
	return secure, link{secure: secure, tcp: tcp}, secure.Handshake()
}

// dialRaw uses the key of the member keyName to open a websocket to a node. The caller must send the hello.
func dialRaw(t *testing.T, to node, keyName string) *raw {
	t.Helper()
	secure, l, err := dialTLS(t, to, keyName, nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := clientConn(l, to.Addr(), &to.cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.tcp.Close() })
	return &raw{c, secure}
}

// settledRaw opens a connection to a node and exchanges hellos and credits, so that frames can flow.
func settledRaw(t *testing.T, to node, keyName string) *raw {
	t.Helper()
	r := dialRaw(t, to, keyName)
	r.put(t, kindHello, 0, nil)
	r.get(t, kindHello)
	r.put(t, kindCredit, window, nil)
	r.get(t, kindCredit)
	return r
}

func (r *raw) put(t *testing.T, k kind, number int, body []byte) {
	t.Helper()
	if err := r.write(0, message{k, number, body}); err != nil {
		t.Fatal(err)
	}
}

func (r *raw) get(t *testing.T, want kind) (number int, body []byte) {
	t.Helper()
	k, n, err := r.next()
	if err != nil {
		t.Fatal(err)
	}
	if k != want {
		t.Fatalf("message of kind %q, want %q", k, want)
	}
	if k != kindCredit {
		body = make([]byte, n)
	}
	if err := r.readBody(body); err != nil {
		t.Fatal(err)
	}
	return n, body
}

// farewell reads until the other end closes the connection, and returns the reason from the other end.
func (r *raw) farewell() error { return r.skip() }

const cutAfter = 1 << 20

// relay is a TCP proxy in front of a node. A test can cut its connections.
type relay struct {
	addr string

	mu    sync.Mutex
	conns []net.Conn
	cuts  int // how many of the next connections break after cutAfter bytes toward the node
}

func newRelay(t *testing.T, to node) *relay {
	t.Helper()
	r := &relay{}
	at := forward(t, func(in net.Conn) (near, far net.Conn, err error) {
		in.(*net.TCPConn).SetReadBuffer(64 << 10) // small, so that what a dialer has sent is soon forwarded
		r.mu.Lock()
		r.conns = append(r.conns, in)
		r.mu.Unlock()
		far, err = net.Dial("tcp", to.listener.Addr().String())
		return &breaking{Conn: in, relay: r}, far, err
	})
	r.addr = fmt.Sprintf("wss://%s/clinic/7?run=16", at)
	return r
}

// breaking is the near end of a relayed connection.
type breaking struct {
	net.Conn
	relay *relay
	total int
}

func (c *breaking) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.total += n
	c.relay.mu.Lock()
	defer c.relay.mu.Unlock()
	if c.relay.cuts > 0 && c.total > cutAfter {
		c.relay.cuts--
		return 0, net.ErrClosed
	}
	return n, err
}

func (r *relay) cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.conns {
		c.Close()
	}
	r.conns = nil
}
