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
	errGap   = errors.New("messages were lost on the way; the node asks for them again")
	errMoved = errors.New("the connection has changed")
)

// reader is a node's position in the stream.
type reader struct {
	created time.Time // of the stream to which the numbers refer
	server  string    // the server process that assigned the numbers
	next    uint64    // the first unread message
	old     uint64    // the last message older than this node
}

// receiveAll reads the messages for this node until the transport is closed.
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

// receive reads through one consumer until an error occurs. Messages are not acknowledged and stay until others take
// their places, so a node that died before it could save the content of a frame reads that frame again.
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
		// A server that crashed may have lost its last messages, and assigns their numbers to others.
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
	// A new connection, perhaps to another server, has no such consumer.
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

// consume makes the broker send messages from the number next on.
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

// take takes a message; live means that it was stored after this node started.
func (t *Transport) take(m jetstream.Msg, live bool) {
	if parts := strings.Split(m.Subject(), "."); len(parts) == 5 {
		t.Take(parts[2], m.Data(), live)
	}
}
