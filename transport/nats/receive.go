package nats

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/spade-dfl/spade-edge/transport/internal/endpoint"
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
	for attempts := 0; t.ctx.Err() == nil; attempts++ {
		before := r.next
		err := t.receive(&r)
		if t.ctx.Err() != nil {
			return
		}
		if r.next != before || errors.Is(err, errMoved) {
			attempts = 0
		}
		if !errors.Is(err, errMoved) {
			t.link.failed(err)
			t.link.forget()
			t.link.pause(t.ctx, attempts)
		}
	}
}

// receive reads through one consumer until something goes wrong. The broker remembers nothing about a reader: messages
// are not acknowledged and stay until others take their places, so that a node that has died before it could save what
// a frame said finds that frame again.
func (t *Transport) receive(r *reader) error {
	stream, err := t.link.ready(t.ctx)
	if err != nil {
		return err
	}
	period := t.link.period()
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
	t.link.worked()
	for count := uint64(1); ; count++ {
		m, err := messages.Next(jetstream.NextContext(t.ctx))
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
		t.take(m.Subject(), m.Data(), meta.Sequence.Stream > r.old)
	}
}

// consume makes the broker send from a message on.
func (t *Transport) consume(period context.Context, stream jetstream.Stream, next uint64) (jetstream.Consumer, error) {
	ctx, cancel := t.link.request(t.ctx, period)
	defer cancel()
	cfg := jetstream.ConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: max(1, next),
		AckPolicy: jetstream.AckNonePolicy, InactiveThreshold: 5 * time.Minute, MemoryStorage: true, Replicas: 1,
	}
	for _, p := range t.sorted {
		cfg.FilterSubjects = append(cfg.FilterSubjects, subject(&p.in, "*"))
	}
	consumer, err := stream.CreateConsumer(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("nats: reading from stream %s: %w", t.link.want.Name, err)
	}
	return consumer, nil
}

// take checks a message and delivers its frame once that is complete. live says that the message was stored after this
// node had started.
func (t *Transport) take(subject string, data []byte, live bool) {
	parts := strings.Split(subject, ".")
	if len(parts) != 5 || t.byTag[parts[2]] == nil {
		t.cfg.Logger.Debug("message of an unknown sender", "subject", subject)
		return
	}
	p := t.byTag[parts[2]]
	p.mu.Lock()
	p.status.Received += int64(len(data))
	pins := p.pins
	p.mu.Unlock()
	v, err := parse(data)
	if err == nil {
		err = v.verify(&p.in, pins)
	}
	if err != nil {
		t.refuse(p, fmt.Errorf("nats: from %q: %w", p.name, err))
		return
	}
	// From here on it is authentic: the peer has sent it, now or before.
	p.mu.Lock()
	p.status.Heard = time.Now()
	p.mu.Unlock()
	if p.window.seen(v.process, v.number) {
		return
	}
	most := t.cfg.MaxFrame
	if v.kind == kindHello {
		most = endpoint.MaxHello
	}
	switch {
	case v.length > most:
		err = fmt.Errorf("a frame of %d bytes, want at most %d", v.length, most)
	case v.kind == kindFrame && v.fleet != t.cfg.Fleet:
		err = errFleet
	}
	if err != nil {
		err = fmt.Errorf("nats: from %q: %w", p.name, err)
		if errors.Is(err, errFleet) {
			t.setRefused(p, err, live)
		}
		p.window.mark(v.process, v.number)
		t.refuse(p, err)
		return
	}
	h := v.header
	piece, err := v.open(&p.in, t.exchange)
	if err != nil {
		t.refuse(p, fmt.Errorf("nats: from %q: %w", p.name, err))
		return
	}
	frame := p.arriving.add(h, piece)
	if frame == nil {
		return
	}
	first := p.window.mark(h.process, h.number)
	p.mu.Lock()
	p.ring.heard()
	if h.kind == kindHello && first {
		p.ring.expire()
	}
	p.mu.Unlock()
	if h.kind == kindHello {
		t.takeHello(p, h.process, frame, live)
		return
	}
	t.setRefused(p, nil, live)
	t.deliver(p.name, frame)
}

// deliver hands a frame to Recv. One that waits already is not added again, and of too many the peer's oldest is
// dropped, as at the broker.
func (t *Transport) deliver(from string, frame []byte) {
	t.inbox.Edit(func(queue []endpoint.Item) []endpoint.Item {
		count, oldest := 0, -1
		for i, it := range queue {
			if it.From != from {
				continue
			}
			if bytes.Equal(it.Frame, frame) {
				return queue
			}
			if count++; oldest < 0 {
				oldest = i
			}
		}
		if count == window {
			queue = slices.Delete(queue, oldest, oldest+1)
		}
		return append(queue, endpoint.Item{From: from, Frame: frame})
	})
}

// takeHello checks a peer's hello. A peer that has started after this node has not received this one's hello as a new
// one, and is sent it again.
func (t *Transport) takeHello(p *peer, process uint64, hello []byte, live bool) {
	err := t.hellos.Check(p.name, hello)
	if err != nil {
		err = fmt.Errorf("nats: hello of %q: %w", p.name, err)
		t.refuse(p, err)
	}
	t.setRefused(p, err, live)
	if live && p.greeted != process {
		p.greeted = process
		endpoint.Offer(p.hello, struct{}{})
	}
	if err == nil {
		endpoint.Offer(t.opened, p.name)
	}
}

// setRefused notes why a peer has another fleet, or with nil that it has the same.
func (t *Transport) setRefused(p *peer, err error, live bool) {
	if live {
		p.mu.Lock()
		p.status.Refused = err
		p.mu.Unlock()
	}
}
