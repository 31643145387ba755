package nats

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	client "github.com/nats-io/nats.go"

	"github.com/spade-dfl/spade-edge/transport/broker/internal/brokertest"
	"github.com/spade-dfl/spade-edge/transport/broker/internal/sealed"
)

// slow is the timing of a real node for retries, with which the tests measure how soon a node continues.
var slow = func() timing {
	t := quick
	t.answer, t.backoffMax = defaultTiming.answer, defaultTiming.backoffMax
	return t
}()

// TestNotPermitted checks that a node that may not publish, look up the stream or receive answers is not connected, with
// the broker's reason, at once instead of after the time limit of a request, and that Probe says the same.
func TestNotPermitted(t *testing.T) {
	for what, c := range map[string]struct{ publish, subscribe, want string }{
		"frames":  {"$JS.API.>", "_INBOX.>", `cannot publish on spade.`},
		"stream":  {"spade.>", "_INBOX.>", `Permissions Violation for Publish to "$JS.API.STREAM.INFO.SPADE-`},
		"answers": {">", "other.>", "Permissions Violation for Subscription to "},
	} {
		t.Run(what, func(t *testing.T) {
			b := &broker{t: t, options: server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(),
				NoLog: true, NoSigs: true, Users: []*server.User{{Username: "joe", Password: secret, Permissions: &server.Permissions{
					Publish:   &server.SubjectPermission{Allow: []string{c.publish}},
					Subscribe: &server.SubjectPermission{Allow: []string{c.subscribe}}}}}}}
			b.Start()
			t.Cleanup(b.Stop)
			cfg := b.config("run", "a", "c")
			cfg.URLs, cfg.timing = []string{b.server.ClientURL()}, slow
			cfg.Options = []client.Option{client.UserInfo("joe", secret)}
			for _, when := range []string{"before the stream exists", "later"} {
				began := time.Now()
				found, err := Probe(t.Context(), cfg)
				if err != nil {
					t.Fatal(err)
				}
				if found.Err == nil || !found.Refused || !strings.Contains(found.Err.Error(), c.want) || time.Since(began) > 10*time.Second {
					t.Errorf("Probe %s: %+v after %v, want %q", when, found, time.Since(began), c.want)
				}
				if when == "later" {
					break
				}
				a := open(t, cfg)
				brokertest.Eventually(t, "the refusal is noticed", func() bool {
					p := a.Peers()[0]
					return !p.Connected && p.Err != nil && strings.Contains(p.Err.Error(), c.want)
				})
				if took := time.Since(began); took > 10*time.Second {
					t.Errorf("the refusal was noticed after %v", took)
				}
				_ = a.Close()
			}
		})
	}
}

// TestJetStreamLost restarts the server without JetStream. The node is not connected as long as that lasts, even though
// the server is there, and goes on as soon as the server stores messages again, over the same connection.
func TestJetStreamLost(t *testing.T) {
	b := newBroker(t)
	config := func(name, peer string) Config {
		cfg := b.config("run", name, peer)
		cfg.timing = slow
		return cfg
	}
	a, c := open(t, config("a", "c")), open(t, config("c", "a"))
	brokertest.Pass(t, a, "a", c, "c", []byte("one"))
	if found, err := Probe(t.Context(), config("a", "c")); err != nil || found.Err != nil || found.Pieces != 64 {
		t.Errorf("Probe: %+v, %v", found, err)
	}
	stream := b.options.StoreDir
	b.Stop()
	b.options.JetStream = false
	b.Start()
	down := func() bool {
		p := a.Peers()[0]
		return !p.Connected && strings.Contains(p.Err.Error(), "JetStream does not answer")
	}
	brokertest.Eventually(t, "the loss is noticed", down)
	for end := time.Now().Add(4 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if !down() {
			t.Fatalf("%+v", a.Peers()[0])
		}
	}
	if found, err := Probe(t.Context(), config("a", "c")); err != nil || found.Err == nil || !found.Refused {
		t.Errorf("Probe: %+v, %v", found, err)
	}
	sending := make(chan error, 1)
	go func() { sending <- a.Send(brokertest.Within(t), "c", []byte("two")) }()
	if err := b.server.EnableJetStream(&server.JetStreamConfig{StoreDir: stream}); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	brokertest.Receive(t, c, "a", []byte("two"))
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("went on after %v", took)
	}
	if err := <-sending; err != nil {
		t.Error(err)
	}
	brokertest.Eventually(t, "both are connected", func() bool { return a.Peers()[0].Connected && c.Peers()[0].Connected })
}

// TestPayloads changes the longest message of the server. A stream that was made for short messages carries frames in
// more pieces; one that was made for long messages does not keep all pieces of a frame in short ones, which is an error
// until the server accepts long ones again, even if it only reads its configuration again.
func TestPayloads(t *testing.T) {
	b := newBroker(t)
	config := func(run, name, peer string) Config {
		cfg := b.config(run, name, peer)
		cfg.MaxFrame = 4 * sealed.MaxPiece
		return cfg
	}
	restart := func(longest int32) {
		b.Stop()
		b.options.MaxPayload = longest
		b.Start()
	}
	frame := bytes.Repeat([]byte("long"), sealed.MaxPiece/2)
	restart(16 << 10)
	a, c := open(t, config("short", "a", "c")), open(t, config("short", "c", "a"))
	brokertest.Pass(t, a, "a", c, "c", frame)
	restart(0)
	brokertest.Eventually(t, "both are back", func() bool { return a.Peers()[0].Connected && c.Peers()[0].Connected })
	frame[0] = 'L'
	brokertest.Send(t, a, "c", frame)
	for {
		if _, got, err := c.Recv(brokertest.Within(t)); err != nil {
			t.Fatal(err)
		} else if bytes.Equal(got, frame) {
			break
		}
	}
	e, f := open(t, config("long", "a", "c")), open(t, config("long", "c", "a"))
	brokertest.Pass(t, e, "a", f, "c", frame)
	restart(16 << 10)
	brokertest.Eventually(t, "the limit is noticed", func() bool {
		p := e.Peers()[0]
		return !p.Connected && strings.Contains(p.Err.Error(), "keeps 4 messages per subject, want at least 69")
	})
	if found, err := Probe(t.Context(), config("long", "a", "c")); err != nil || found.Err == nil || !found.Refused ||
		!strings.Contains(found.Err.Error(), "the broker's limits are too low: ") {
		t.Errorf("Probe: %+v, %v", found, err)
	}
	options := b.options
	options.MaxPayload = server.MAX_PAYLOAD_SIZE
	if err := b.server.ReloadOptions(&options); err != nil {
		t.Fatal(err)
	}
	brokertest.Eventually(t, "both are back", func() bool { return e.Peers()[0].Connected && f.Peers()[0].Connected })
}
