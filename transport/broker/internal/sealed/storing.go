package sealed

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/spade-dfl/spade-edge/transport/internal/endpoint"
)

// storing states whether the broker stores frames for a peer.
type storing struct {
	err   error     // why the broker does not store the last frame, or nil
	size  int       // if err wraps ErrTooLong: length of the frame, so that a shorter one proves nothing
	since time.Time // when err last became nil or ceased to be nil
}

// post publishes a frame, and records whether the broker has stored it. It must be called through inTurn.
func (e *End) post(ctx context.Context, p *peer, kind byte, m Message, frame []byte) error {
	err := e.postPieces(ctx, p, kind, m, frame)
	if err == nil || ctx.Err() == nil {
		e.note(p, err, len(frame))
	}
	return err
}

// note records whether the broker has stored a frame with the given length for a peer. When it stores frames again, note
// sends the peer's name to the channel that [End.Opened] returns, because frames may have been dropped in the meantime.
func (e *End) note(p *peer, err error, length int) {
	p.mu.Lock()
	s := &p.store
	before := s.err
	switch {
	case err != nil:
		s.err = fmt.Errorf("%s: broker: %w", e.cfg.Prefix, err)
		if errors.Is(err, ErrTooLong) {
			s.size = length
		}
	case length >= s.size:
		s.err, s.size = nil, 0
	}
	after := s.err
	if (before == nil) != (after == nil) {
		s.since = time.Now()
	}
	p.mu.Unlock()
	switch {
	case after != nil:
		same := before != nil && before.Error() == after.Error()
		e.cfg.Logger.Log(context.Background(), endpoint.Level(same), "the broker does not store messages", "peer", p.name, "reason", after)
	case before != nil:
		e.cfg.Logger.Info("the broker stores messages again", "peer", p.name)
		endpoint.Offer(e.opened, p.name)
	}
}

// Retry must be called after a new connection to the broker. It sends the names of all peers for which the broker did not
// store the last frame to the channel that [End.Opened] returns.
func (e *End) Retry() {
	for _, p := range e.sorted {
		p.mu.Lock()
		failed := p.store.err != nil
		p.mu.Unlock()
		if failed {
			endpoint.Offer(p.hello, struct{}{})
			endpoint.Offer(e.opened, p.name)
		}
	}
}

// obstacle returns why no frame can be exchanged with a peer, or nil if nothing is in the way.
func (e *End) obstacle(p *peer) error {
	if l := e.line.State(); !l.Up {
		return l.Err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.store.err
}

// publish publishes a message, and retries until ctx ends or no retry can succeed.
func (e *End) publish(ctx context.Context, p *peer, m Message) error {
	most := Retry + time.Duration(len(m.Data)/retryRate)*time.Second
	for attempts := 0; ; attempts++ {
		err := e.line.Publish(ctx, m)
		switch {
		case err == nil: // even if ctx has ended meanwhile
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, ErrTooLong):
			return err
		}
		if !errors.Is(err, ErrEnded) { // the end of a connection is recorded already
			e.note(p, err, 0)
		}
		e.line.Pause(ctx, attempts, most)
	}
}

// postPieces splits a frame into pieces, and seals and publishes each piece.
func (e *End) postPieces(ctx context.Context, p *peer, kind byte, m Message, frame []byte) error {
	size, err := e.line.Ready(ctx)
	if err != nil {
		return err
	}
	p.number++
	total, err := Pieces(len(frame), size)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrTooLong, err)
	}
	h := header{Kind: kind, Fleet: e.cfg.Fleet, Process: e.process, Number: p.number, Total: uint16(total), Length: uint32(len(frame))}
	p.mu.Lock()
	seals := p.seals
	p.mu.Unlock()
	m.From, m.To = hex.EncodeToString(p.out.fromTag[:]), hex.EncodeToString(p.out.toTag[:])
	for ; h.Index < h.Total; h.Index++ {
		from, to := h.piece()
		if m.Data, err = seal(&p.out, h, e.cfg.Key, seals, frame[from:to]); err != nil {
			return err
		}
		if err := e.publish(ctx, p, m); err != nil {
			return err
		}
		p.mu.Lock()
		p.status.Sent += int64(len(m.Data))
		p.mu.Unlock()
	}
	return nil
}
