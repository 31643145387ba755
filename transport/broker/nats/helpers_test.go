package nats

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	client "github.com/nats-io/nats.go"

	"github.com/spade-dfl/spade-edge/transport/broker/internal/brokertest"
)

// quick is the timing for tests with a broker on the same machine.
var quick = timing{
	connect: 5 * time.Second, ping: 5 * time.Second, answer: 5 * time.Second, backoffMin: 10 * time.Millisecond,
	backoffMax: 200 * time.Millisecond,
	repeatMin:  100 * time.Millisecond, repeatMax: time.Second, heartbeat: time.Second,
}

// broker is a NATS server. It runs in the test process or, if the field estate is not nil, in a separate process.
type broker struct {
	t       testing.TB
	options server.Options
	server  *server.Server
	estate  *estate
	tunnel  *brokertest.Tunnel // if not nil, leads to the broker's websockets
}

// newBroker starts a server whose JetStream data is on disk.
func newBroker(t testing.TB) *broker {
	t.Helper()
	b := &broker{t: t, options: server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true,
	}}
	b.Start()
	u, err := url.Parse(b.server.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	if b.options.Port, err = strconv.Atoi(u.Port()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Stop)
	return b
}

func (b *broker) Start() {
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

func (b *broker) Stop() {
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

func (b *broker) config(run, name string, peers ...string) Config {
	return b.of(brokertest.Setup{Run: run, Name: name, Peers: peers})
}

func (b *broker) of(s brokertest.Setup) Config {
	cfg := Config{Name: s.Name, Key: s.Secret(), Peers: s.Neighbors(), Run: s.Run, URLs: []string{b.url()}, Fleet: s.Fleet,
		Hello: s.Hello, CheckHello: s.CheckHello, MaxFrame: s.MaxFrame, Logger: s.Logger, timing: quick}
	if b.estate != nil {
		cfg.Options = b.estate.options()
	}
	if b.tunnel != nil {
		cfg.Proxy = b.tunnel.URL("joe:" + secret)
	}
	if s.Way != nil {
		cfg.Options = append(cfg.Options, client.SetCustomDialer(way{s.Way, newDialer(context.Background(), &cfg)}))
	}
	return cfg
}

// way dials the broker for a client, through a proxy if there is one. A test can interrupt the connections.
type way struct {
	*brokertest.Way
	dialer *dialer
}

func (w way) Dial(network, address string) (net.Conn, error) {
	w.dialer.Direct = w.DialContext
	return w.dialer.Dial(network, address)
}

func (b *broker) End(s brokertest.Setup) (brokertest.End, error) { return New(b.of(s)) }

// HangUp closes all connections through the tunnel.
func (b *broker) HangUp() {
	if b.tunnel != nil {
		b.tunnel.HangUp()
	}
}

func open(t testing.TB, cfg Config) *Transport {
	t.Helper()
	tr, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tr.Close() })
	return tr
}
