package nats

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	client "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/spade-dfl/spade-edge/transport/broker/internal/brokertest"
	"github.com/spade-dfl/spade-edge/transport/broker/internal/sealed"
)

// hostile is a malicious broker. Messages that members publish go into one stream, and members read from another
// stream. The test decides which messages go into the second stream.
type hostile struct {
	*broker
	tag string
	js  jetstream.JetStream

	mu  sync.Mutex
	all []brokertest.Message // all messages ever published
	do  func(m brokertest.Message)
}

// newHostile prepares a server for a run. It forwards no messages until the test sets the field "do".
func newHostile(t *testing.T, run string) *hostile {
	t.Helper()
	h := &hostile{broker: newBroker(t)}
	h.tag, _ = sealed.Tags(run, "")
	nc, err := client.Connect(h.url())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	if h.js, err = jetstream.New(nc); err != nil {
		t.Fatal(err)
	}
	taken, err := h.js.CreateStream(brokertest.Within(t), jetstream.StreamConfig{Name: "TAKEN-" + h.tag,
		Subjects: []string{"spade." + h.tag + ".>"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.js.CreateStream(brokertest.Within(t), jetstream.StreamConfig{
		Name: "SPADE-" + h.tag, Subjects: []string{"given." + h.tag + ".>"}, MaxMsgsPerSubject: 100,
		SubjectTransform: &jetstream.SubjectTransformConfig{Source: "given." + h.tag + ".>", Destination: "spade." +
			h.tag + ".>"},
	}); err != nil {
		t.Fatal(err)
	}
	consumer, err := taken.CreateConsumer(brokertest.Within(t), jetstream.ConsumerConfig{AckPolicy: jetstream.AckNonePolicy})
	if err != nil {
		t.Fatal(err)
	}
	reading, err := consumer.Consume(func(m jetstream.Msg) {
		h.mu.Lock()
		defer h.mu.Unlock()
		parts := strings.Split(m.Subject(), ".")
		got := brokertest.Message{From: parts[2], To: parts[3], Place: parts[4], Data: slices.Clone(m.Data())}
		h.all = append(h.all, got)
		if h.do != nil {
			h.do(got)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(reading.Stop)
	return h
}

func (h *hostile) Give(m brokertest.Message) {
	if _, err := h.js.Publish(context.Background(), strings.Join([]string{"given", h.tag, m.From, m.To, m.Place}, "."),
		m.Data); err != nil && h.server.Running() {
		h.t.Error(err)
	}
}

func (h *hostile) Set(do func(m brokertest.Message)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.do = do
}

func (h *hostile) All(see func(all []brokertest.Message)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	see(h.all)
}

func TestRunOverHostileBroker(t *testing.T) {
	brokertest.RunOverHostile(t, newHostile(t, "run"), newHostile(t, "earlier run"))
}
