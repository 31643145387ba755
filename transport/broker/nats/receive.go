package nats

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/spade-dfl/spade-edge/transport/broker/internal/sealed"
)

var (
	errGap   = errors.New("messages were lost on the way; the node asks for them again")
	errMoved = errors.New("the connection to the broker has changed")
)

// reader records how far a node has read the stream.
type reader struct {
	created time.Time // when the stream with these message numbers was created
	server  string    // the server process that assigned the message numbers
	next    uint64    // number of the first message that the node has not read
	old     uint64    // number of the last message stored before this node started
}

// receiveAll receives messages for this node until the transport is closed.
func (t *Transport) receiveAll() {
	var r reader
	for attempts := 0; t.Context().Err() == nil; attempts++ {
		before := r.next
		err := t.receive(&r)
		if t.Context().Err() != nil {
			return
		}
		if r.next != before || errors.Is(err, errMoved) {
			attempts = 0
		}
		if errors.Is(err, errMoved) {
			continue
		}
		if errors.Is(err, errGap) {
			t.cfg.Logger.Warn("broker", "reason", err)
		} else {
			t.link.Failed(sealed.Reading, err)
		}
		t.link.forget()
		t.link.Pause(t.Context(), attempts, sealed.Retry)
	}
}

// receive reads messages through one consumer until an error occurs. It acknowledges no messages, so the broker keeps a
// message until a newer message replaces it. A node that died before saving the content of a frame can therefore read
// the frame again.
func (t *Transport) receive(r *reader) error {
	stream, err := t.link.ready(t.Context())
	if err != nil {
		return err
	}
	period, _ := t.link.Period()
	info := stream.CachedInfo()
	if !info.Created.Equal(r.created) {
		first := r.created.IsZero()
		*r = reader{created: info.Created, next: 1}
		if first {
			r.old = info.State.LastSeq
		}
	}
	if id := t.link.conn.ConnectedServerId(); id != r.server {
		// Start again at the first message if the server has restarted: after a crash, a server may have lost its last
		// messages and may reuse their numbers.
		r.server, r.next = id, 1
	}
	consumer, err := t.consume(period, stream, r.next)
	if err != nil {
		if period.Err() != nil {
			return errMoved
		}
		return err
	}
	messages, err := consumer.Messages(jetstream.PullMaxMessages(8),
		jetstream.PullExpiry(4*t.cfg.timing.heartbeat), jetstream.PullHeartbeat(t.cfg.timing.heartbeat))
	if err != nil {
		return fmt.Errorf("nats: reading: %w", err)
	}
	defer messages.Stop()
	// Stop when the connection ends: the next connection may be to another server, on which this consumer does not
	// exist.
	defer context.AfterFunc(period, messages.Stop)()
	t.link.Worked(sealed.Reading)
	for count := uint64(1); ; count++ {
		m, err := messages.Next(jetstream.NextContext(t.Context()))
		if err != nil {
			if period.Err() != nil {
				return errMoved
			}
			return fmt.Errorf("nats: reading: %w", err)
		}
		meta, err := m.Metadata()
		if err != nil {
			return fmt.Errorf("nats: reading: %w", err)
		}
		if meta.Sequence.Consumer != count {
			return fmt.Errorf("nats: reading: %w", errGap)
		}
		r.next = meta.Sequence.Stream + 1
		t.take(m, meta.Sequence.Stream > r.old)
	}
}

// consume creates a consumer for this node's messages, starting at the message with the number next.
func (t *Transport) consume(period context.Context, stream jetstream.Stream, next uint64) (jetstream.Consumer, error) {
	inner, done := t.link.asking.begin(t.Context(), period, t.link.want.Name)
	cfg := jetstream.ConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: max(1, next),
		AckPolicy: jetstream.AckNonePolicy, InactiveThreshold: 5 * time.Minute, MemoryStorage: true, Replicas: 1,
	}
	for _, p := range t.cfg.Peers {
		cfg.FilterSubjects = append(cfg.FilterSubjects, t.link.from(p.Name, "*"))
	}
	consumer, err := stream.CreateConsumer(inner, cfg)
	if err = done(err); err != nil {
		return nil, fmt.Errorf("nats: reading from stream %s: %w", t.link.want.Name, err)
	}
	return consumer, nil
}

// take passes on a message. live reports whether the broker stored the message after this node started.
func (t *Transport) take(m jetstream.Msg, live bool) {
	if parts := strings.Split(m.Subject(), "."); len(parts) == 5 {
		t.Take(parts[2], m.Data(), live)
	}
}
