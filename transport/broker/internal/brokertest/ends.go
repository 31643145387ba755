package brokertest

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/transport"
)

// Soon is how long a test waits for a condition to become true.
const Soon = time.Minute

// End is one member's transport over a broker.
type End interface {
	transport.Transport
	transport.Notifier
	Peers() []transport.PeerStatus
	Update(peers []transport.Peer) error
}

// Setup configures an [End]. A zero field means the transport's default.
type Setup struct {
	Run, Name  string
	Peers      []string // may include the node itself, which is ignored
	Key        string   // name of the member whose key this end uses; empty means Name
	Fleet      [32]byte
	Hello      func(peer string) []byte
	CheckHello func(peer string, hello []byte) error
	MaxFrame   int
	Logger     *slog.Logger
	Way        *Way // how to dial the broker; nil means directly
}

// Secret returns the secret key of the end.
func (s *Setup) Secret() ed25519.PrivateKey {
	if s.Key != "" {
		return Member(s.Key)
	}
	return Member(s.Name)
}

// Neighbors returns all peers except the node itself, in the form that the configuration of a transport needs.
func (s *Setup) Neighbors() (all []transport.Peer) {
	for _, p := range s.Peers {
		if p != s.Name {
			all = append(all, transport.Peer{Name: p, Keys: []ed25519.PublicKey{Public(p)}})
		}
	}
	return all
}

// Opener opens an [End] that uses the broker under test.
type Opener func(s Setup) (End, error)

// Open opens an [End] and closes it when the test ends.
func (o Opener) Open(t testing.TB, s Setup) End {
	t.Helper()
	e, err := o(s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// Pair opens the ends of the members a and b of a run. Each is the other's only peer.
func (o Opener) Pair(t testing.TB, run, a, b string) (End, End) {
	t.Helper()
	return o.Open(t, Setup{Run: run, Name: a, Peers: []string{b}}), o.Open(t, Setup{Run: run, Name: b, Peers: []string{a}})
}

// Member returns the secret key of the named member. It depends only on the name.
func Member(name string) ed25519.PrivateKey {
	seed := make([]byte, ed25519.SeedSize)
	copy(seed, name)
	return ed25519.NewKeyFromSeed(seed)
}

// Public returns the public key of the named member.
func Public(name string) ed25519.PublicKey { return Member(name).Public().(ed25519.PublicKey) }

// Within returns a context with the time limit [Soon].
func Within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), Soon)
	t.Cleanup(cancel)
	return ctx
}

// Long returns a context with a time limit long enough for a whole run, even on a slow machine.
func Long(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// Send sends a frame and fails the test on an error.
func Send(t testing.TB, tr End, to string, frame []byte) {
	t.Helper()
	if err := tr.Send(Within(t), to, frame); err != nil {
		t.Fatal(err)
	}
}

// Receive waits for the next frame and checks its sender and content.
func Receive(t testing.TB, tr End, from string, frame []byte) {
	t.Helper()
	name, got, err := tr.Recv(Within(t))
	if err != nil {
		t.Fatal(err)
	}
	if name != from || !bytes.Equal(got, frame) {
		t.Fatalf("%d bytes from %q, %.40q, want %d from %q, %.40q", len(got), name, got, len(frame), from, frame)
	}
}

// Nothing is the check that no frame arrives within a short time. If a frame arrives, the test fails.
func Nothing(t testing.TB, tr End) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if from, frame, err := tr.Recv(ctx); err == nil {
		t.Fatalf("%d bytes from %q, %.40q, want nothing", len(frame), from, frame)
	}
}

// Eventually waits until good returns true. It fails the test if that takes longer than [Soon]. The text in "what"
// describes the condition.
func Eventually(t testing.TB, what string, good func() bool) {
	t.Helper()
	for end := time.Now().Add(Soon); !good(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// Scale returns the number of faults that a test should inject: the value of the named environment variable or, if the
// variable is not set, the argument "few".
func Scale(t testing.TB, variable string, few int) int {
	t.Helper()
	s := os.Getenv(variable)
	if s == "" {
		return few
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return n
}

// Buffer is a byte buffer that is safe for concurrent use.
type Buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements [io.Writer].
func (s *Buffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *Buffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// Way is the network path between a member and its broker. A test can cut it.
type Way struct {
	// Base dials the broker. If Base is nil, a net.Dialer is used.
	Base func(ctx context.Context, network, address string) (net.Conn, error)

	mu    sync.Mutex
	cut   bool
	conns []net.Conn
}

// DialContext dials the broker. It fails while the path is cut.
func (w *Way) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cut {
		return nil, errors.New("cut off")
	}
	dial := w.Base
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	conn, err := dial(ctx, network, address)
	if err == nil {
		w.conns = append(w.conns, conn)
	}
	return conn, err
}

// Set cuts the path and closes all its connections if cut is true. Otherwise it restores the path.
func (w *Way) Set(cut bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = cut
	if cut {
		for _, conn := range w.conns {
			_ = conn.Close()
		}
		w.conns = nil
	}
}

// Mosquitto returns the path of the program mosquitto. If the program is not installed, it skips the test.
func Mosquitto(t testing.TB) string {
	t.Helper()
	for _, name := range []string{"mosquitto", "/usr/sbin/mosquitto"} { // rarely in the PATH of a user other than root
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("no mosquitto: apt-get install mosquitto")
	return ""
}

// Listens waits until a server accepts connections at the TCP address.
func Listens(t testing.TB, address string) {
	t.Helper()
	Eventually(t, "something listens at "+address, func() bool {
		c, err := net.Dial("tcp", address)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
}
