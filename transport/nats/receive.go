package nats

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

var (
	errGap   = errors.New("messages were lost on the way; they are asked for again")
	errMoved = errors.New("the connection is another one")
)

// reader is a node's position in the stream.
type reader struct {
	created time.Time // of the stream that the numbers refer to
	server  string    // the process that counts
	next    uint64    // the first message that has not been read
	old     uint64    // the last message that was there before this node
}

// receiveAll reads what the broker has for this node until the transport is closed.
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
		if !errors.Is(err, errMoved) {
			t.link.Failed(err)
			t.link.forget()
			t.link.pause(t.Context(), attempts)
		}
	}
}

// receive reads through one consumer until something goes wrong. The broker remembers nothing about a reader: messages
// are not acknowledged and stay until others take their places, so that a node that has died before it could save what
// a frame said finds that frame again.
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
		// A server that has crashed may have lost its last messages, and gives their numbers to others.
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
	// A new connection, perhaps with another server, has no such consumer.
	defer context.AfterFunc(period, messages.Stop)()
	t.link.Worked()
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

// consume makes the broker send from a message on.
func (t *Transport) consume(period context.Context, stream jetstream.Stream, next uint64) (jetstream.Consumer, error) {
	ctx, cancel := t.link.request(t.Context(), period)
	defer cancel()
	cfg := jetstream.ConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: max(1, next),
		AckPolicy: jetstream.AckNonePolicy, InactiveThreshold: 5 * time.Minute, MemoryStorage: true, Replicas: 1,
	}
	for _, p := range t.cfg.Peers {
		cfg.FilterSubjects = append(cfg.FilterSubjects, subject(t.cfg.Run, p.Name, t.cfg.Name, "*"))
	}
	consumer, err := stream.CreateConsumer(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("nats: reading from stream %s: %w", t.link.want.Name, err)
	}
	return consumer, nil
}

// take takes a message; live says that it was stored after this node had started.
func (t *Transport) take(m jetstream.Msg, live bool) {
	if parts := strings.Split(m.Subject(), "."); len(parts) == 5 {
		t.Take(parts[2], m.Data(), live)
	}
}
