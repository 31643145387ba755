package nats

import (
	"crypto/ed25519"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	client "github.com/nats-io/nats.go"
)

// member returns the secret key of a member of tests.
func member(name string) ed25519.PrivateKey {
	seed := make([]byte, ed25519.SeedSize)
	copy(seed, name)
	return ed25519.NewKeyFromSeed(seed)
}

func public(name string) ed25519.PublicKey { return member(name).Public().(ed25519.PublicKey) }

// quick is a timing for machines that are near.
var quick = timing{
	connect: 5 * time.Second, ping: 5 * time.Second, answer: 5 * time.Second, backoffMin: 10 * time.Millisecond,
	backoffMax: 200 * time.Millisecond,
	repeatMin:  100 * time.Millisecond, repeatMax: time.Second, heartbeat: time.Second,
}

// broker is a server in this process, or in one of its own if it has an estate.
type broker struct {
	t       testing.TB
	options server.Options
	server  *server.Server
	estate  *estate
	tunnel  *tunnel // the way to its websockets, if it is set
}

// newBroker starts a server with JetStream on disk.
func newBroker(t testing.TB) *broker {
	t.Helper()
	b := &broker{t: t, options: server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true,
	}}
	b.start()
	u, err := url.Parse(b.server.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	if b.options.Port, err = strconv.Atoi(u.Port()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.stop)
	return b
}

func (b *broker) start() {
	b.t.Helper()
	if b.estate != nil {
		b.estate.start(b.t)
		return
	}
	options := b.options
	s, err := server.NewServer(&options)
	if err != nil {
		b.t.Fatal(err)
	}
	s.Start()
	if !s.ReadyForConnections(30 * time.Second) {
		b.t.Fatal("the server does not start")
	}
	b.server = s
}

func (b *broker) stop() {
	if b.estate != nil {
		b.estate.kill()
		return
	}
	b.server.Shutdown()
	b.server.WaitForShutdown()
}

func (b *broker) url() string {
	if b.tunnel != nil {
		return fmt.Sprintf("wss://%s:%d", nowhere, b.options.Port+1)
	}
	if b.estate != nil {
		return fmt.Sprintf("tls://127.0.0.1:%d", b.options.Port)
	}
	return fmt.Sprintf("nats://127.0.0.1:%d", b.options.Port)
}

// config is what a member of a run needs to talk to others.
func (b *broker) config(run, name string, peers ...string) Config {
	cfg := Config{Name: name, Key: member(name), Run: run, URLs: []string{b.url()}, timing: quick}
	for _, p := range peers {
		if p != name {
			cfg.Peers = append(cfg.Peers, Peer{Name: p, Keys: []ed25519.PublicKey{public(p)}})
		}
	}
	if b.estate != nil {
		cfg.Options = b.estate.options()
	}
	if b.tunnel != nil {
		cfg.Proxy = b.tunnel.url("joe:" + secret)
	}
	return cfg
}

// open starts a member.
func open(t testing.TB, cfg Config) *Transport {
	t.Helper()
	tr, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tr.Close() })
	return tr
}

// scale is how many faults to make: a few, or what an environment variable says.
func scale(t testing.TB, variable string, few int) int {
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

// dialing has a client dial in a way of the test.
func dialing(d client.CustomDialer) []client.Option {
	return []client.Option{client.SetCustomDialer(d)}
}
