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

// reader is where a node stands in the stream.
type reader struct {
	created time.Time // of the stream that the numbers speak of
	server  string    // and the process that counts
	next    uint64    // the first message that has not been read
	kept    uint64    // the last message that was there before this node
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

// receive reads through one consumer until something goes wrong. There is nothing that the broker has to remember of a reader:
// messages are not acknowledged and stay where they are until others take their places, so that a node which has died
// before it could keep what a frame told it finds that frame again.
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
			r.kept = info.State.LastSeq
		}
	}
	if id := t.link.conn.ConnectedServerId(); id != r.server {
		r.server, r.next = id, 1 // one that has crashed may have lost its last messages, and counts others under their numbers
	}
	consumer, err := t.consume(period, stream, r.next)
	if err != nil {
		if period.Err() != nil {
			return errMoved
		}
		return err
	}
	messages, err := consumer.Messages(jetstream.PullMaxMessages(8), jetstream.PullExpiry(4*t.timing.beat), jetstream.PullHeartbeat(t.timing.beat))
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
		t.take(m.Subject(), m.Data(), meta.Sequence.Stream > r.kept)
	}
}

// consume makes the broker send from a message on.
func (t *Transport) consume(period context.Context, stream jetstream.Stream, next uint64) (jetstream.Consumer, error) {
	ctx, cancel := t.link.patience(t.ctx, period)
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

// sender returns the peer whose subject it is, nil if it is nobody's.
func (t *Transport) sender(subject string) *peer {
	parts := strings.Split(subject, ".")
	if len(parts) != 5 {
		return nil
	}
	return t.byTag[parts[2]]
}

// take judges a message. live says that it came after this node.
func (t *Transport) take(subject string, data []byte, live bool) {
	p := t.sender(subject)
	if p == nil {
		t.log.Debug("message of a stranger", "subject", subject)
		return
	}
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
	// From here on it is the peer's own word, said once or again.
	p.mu.Lock()
	p.status.Heard = time.Now()
	p.mu.Unlock()
	if p.window.seen(v.life, v.number) {
		return
	}
	most := t.maxFrame
	if v.kind == kindHello {
		most = maxHello
	}
	switch {
	case v.length > most:
		err = fmt.Errorf("a frame of %d bytes, want at most %d", v.length, most)
	case v.kind == kindFrame && v.fleet != t.fleet:
		err = errFleet
	}
	if err != nil {
		err = fmt.Errorf("nats: from %q: %w", p.name, err)
		if errors.Is(err, errFleet) {
			t.mismatch(p, err, live)
		}
		p.window.mark(v.life, v.number)
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
	first := p.window.mark(h.life, h.number)
	p.mu.Lock()
	p.ring.heard()
	if h.kind == kindHello && first {
		p.ring.doubt()
	}
	p.mu.Unlock()
	if h.kind == kindHello {
		t.takeHello(p, h.life, frame, live)
		return
	}
	t.agree(p, live)
	t.inbox.put(p.name, frame)
}

// takeHello judges what a peer says on starting. A peer that came after this node has not heard this one's hello as something new,
// and is told again.
func (t *Transport) takeHello(p *peer, life uint64, hello []byte, live bool) {
	var err error
	if t.checkHello != nil {
		err = t.checkHello(p.name, hello)
	}
	if err != nil {
		err = fmt.Errorf("nats: hello of %q: %w", p.name, err)
		t.mismatch(p, err, live)
		t.refuse(p, err)
	} else {
		t.agree(p, live)
	}
	if live && p.greeted != life {
		p.greeted = life
		p.greet()
	}
	if err == nil {
		select {
		case t.opened <- p.name:
		default:
		}
	}
}

// mismatch notes that a peer means another fleet.
func (t *Transport) mismatch(p *peer, err error, live bool) {
	if live {
		p.mu.Lock()
		p.status.Refused = err
		p.mu.Unlock()
	}
}

// agree notes that a peer means the same fleet.
func (t *Transport) agree(p *peer, live bool) {
	if live {
		p.mu.Lock()
		p.status.Refused = nil
		p.mu.Unlock()
	}
}
