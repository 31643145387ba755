package nats

import (
	"bytes"
	"crypto/ed25519"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/transport/broker/internal/brokertest"
	"github.com/spade-dfl/spade-edge/transport/broker/internal/sealed"

	client "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func TestConformance(t *testing.T) { brokertest.Conformance(t, newBroker(t).End) }
func TestCutOff(t *testing.T)      { brokertest.CutOff(t, newBroker(t).End) }
func TestOtherFleet(t *testing.T)  { brokertest.OtherFleet(t, newBroker(t).End) }

// TestConfigFaults checks that all errors in a configuration are reported at once and that no error contains a
// password.
func TestConfigFaults(t *testing.T) {
	_, err := New(Config{
		Key: make(ed25519.PrivateKey, 3), URLs: []string{"tls://broker:4222", "http://joe:hidden@x", "nats://",
			"tls://x/path", "nats://joe:hid%zzden@x"}, MaxFrame: -1, MaxAge: -1, MaxBytes: -1,
		Peers: []Peer{{Name: "a"}, {Name: "a", Keys: []ed25519.PublicKey{make([]byte, 32), brokertest.Public("b"), brokertest.Public("c")}},
			{Keys: []ed25519.PublicKey{brokertest.Public("b")}}},
	})
	if err == nil {
		t.Fatal("no fault was found")
	}
	for _, want := range []string{
		"Name is empty", "Run is empty", "Key has 3 bytes", "URLs[1]", "URLs[2]", "URLs[3]", "URLs[4]",
		"MaxFrame is -1", "MaxAge is -1", "MaxBytes is -1",
		`peer "a" has 0 keys`, `peer "a" is listed twice`, `"a" has 3 keys`, "small order", "peer 2 has no name",
		`also a key of "a"`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("nothing is said of %q in\n%v", want, err)
		}
	}
	if strings.Contains(err.Error(), "URLs[0]") || strings.Contains(err.Error(), "hid") {
		t.Error("too much is said in\n", err)
	}
}

// TestStoreAndForward checks that members exchange a frame although they are never connected at the same time: the
// frame stays at the broker, even while the server restarts. A member that died before saving the content of a frame
// must receive the frame again.
func TestStoreAndForward(t *testing.T) {
	b := newBroker(t)
	early := open(t, b.config("run", "a", "b"))
	frames := [][]byte{[]byte("one"), bytes.Repeat([]byte("two"), sealed.MaxPiece), []byte("three")}
	for _, f := range frames {
		brokertest.Send(t, early, "b", f)
	}
	_ = early.Close()
	b.Stop()
	b.Start()
	for range 2 {
		late := open(t, b.config("run", "b", "a"))
		for _, f := range frames {
			brokertest.Receive(t, late, "a", f)
		}
		if err := late.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestRepeats checks repeats of a frame for a sleeping peer: they must not displace any other frame, and repeats that
// are not due yet must not be sent to the broker.
func TestRepeats(t *testing.T) {
	b := newBroker(t)
	a := open(t, b.config("run", "a", "b"))
	brokertest.Send(t, a, "b", []byte("before"))
	brokertest.Send(t, a, "b", []byte("last"))
	sent := a.Peers()[0].Sent
	begin := time.Now()
	for range 1000 {
		brokertest.Send(t, a, "b", []byte("last"))
	}
	took := time.Since(begin)
	// The intervals between repeats double from repeatMin up to repeatMax.
	if n, most := (a.Peers()[0].Sent-sent)/sent, 2+int64(took/quick.repeatMin); n > most {
		t.Errorf("%d times in %v, want at most %d", n, took, most)
	}
	for range 20 { // every repeat goes into the same place
		a.ResendAll()
		brokertest.Send(t, a, "b", []byte("last"))
	}
	late := open(t, b.config("run", "b", "a"))
	brokertest.Receive(t, late, "a", []byte("before"))
	brokertest.Receive(t, late, "a", []byte("last"))
}

// TestServerRestarts restarts the server, once with its data and once without. The members must reconnect, and the
// channel that Opened returns must notify them if data was lost.
func TestServerRestarts(t *testing.T) {
	b := newBroker(t)
	a, c := open(t, b.config("run", "a", "c")), open(t, b.config("run", "c", "a"))
	for i := range brokertest.Scale(t, "SPADE_RESTARTS", 4) {
		one, two := []byte(fmt.Sprint("before ", i)), []byte(fmt.Sprint("after ", i))
		brokertest.Send(t, a, "c", one)
		brokertest.Receive(t, c, "a", one)
		b.Stop()
		brokertest.Eventually(t, "the loss is noticed", func() bool { return !a.Peers()[0].Connected && a.Peers()[0].Err != nil })
		sending := make(chan error, 1)
		go func() { sending <- a.Send(brokertest.Within(t), "c", two) }()
		lost := i%2 == 1
		if lost {
			b.options.StoreDir = t.TempDir()
			for _, tr := range []*Transport{a, c} {
				for len(tr.Opened()) > 0 {
					<-tr.Opened()
				}
			}
		}
		b.Start()
		brokertest.Receive(t, c, "a", two)
		if err := <-sending; err != nil {
			t.Fatal(err)
		}
		if lost {
			select {
			case <-c.Opened():
			case <-time.After(brokertest.Soon):
				t.Error("nobody says that the broker has lost everything")
			}
			brokertest.Eventually(t, "the sender knows as well", func() bool { return len(a.Opened()) > 0 })
			brokertest.Send(t, a, "c", one) // the new stream must deliver the frame again
			brokertest.Receive(t, c, "a", one)
		}
	}
}

// TestOldWord checks that a node does not accuse a member because of an outdated message that the broker still stores.
func TestOldWord(t *testing.T) {
	b := newBroker(t)
	config := func(name, peer, fleet string) Config {
		cfg := b.config("run", name, peer)
		copy(cfg.Fleet[:], fleet)
		return cfg
	}
	c := open(t, config("c", "a", "wrong"))
	brokertest.Send(t, c, "a", []byte("a frame"))
	_ = c.Close()
	a := open(t, config("a", "c", "right"))
	brokertest.Eventually(t, "what was said before is read", func() bool { return a.Peers()[0].Refusals > 0 })
	if st := a.Peers()[0]; st.Refused != nil || st.Err == nil {
		t.Errorf("an old word counts: %+v", st)
	}
}

// TestNarrowStream checks that the error names the stream if an operator created the stream with limits that are too
// low.
func TestNarrowStream(t *testing.T) {
	b := newBroker(t)
	nc, err := client.Connect(b.url())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	cfg := b.config("run", "a", "c")
	cfg.MaxFrame = 2 * sealed.MaxPiece
	tag, _ := sealed.Tags("run", "")
	if _, err := js.CreateStream(brokertest.Within(t), jetstream.StreamConfig{Name: "SPADE-" + tag,
		Subjects: []string{"spade." + tag + ".>"}, MaxMsgsPerSubject: 1}); err != nil {
		t.Fatal(err)
	}
	a := open(t, cfg)
	brokertest.Eventually(t, "the fault is told", func() bool {
		err := a.Peers()[0].Err
		return err != nil && strings.Contains(err.Error(), "keeps 1 messages per subject, want at least 2")
	})
}
