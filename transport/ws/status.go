package ws

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/spade-dfl/spade-edge/transport"
	"github.com/spade-dfl/spade-edge/transport/internal/endpoint"
)

// errHello marks that a hello was refused. The other end recognizes it by its text.
var errHello = errors.New("hello refused")

// Peers returns the state of every peer, sorted by name.
func (t *Transport) Peers() []transport.PeerStatus {
	var all []transport.PeerStatus
	for _, p := range t.sorted {
		p.mu.Lock()
		s := p.status
		p.mu.Unlock()
		s.Sent, s.Received = p.traffic.sent.Load(), p.traffic.received.Load()
		all = append(all, s)
	}
	return all
}

// state describes a peer for an error message.
func (p *peer) state() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.status.Connected:
		return "connected"
	case p.status.Err != nil:
		return "not connected (" + p.status.Err.Error() + ")"
	case p.dial && len(p.addresses) == 0:
		return "not connected (no address to dial)"
	}
	return "not connected"
}

// connected notes that frames can flow.
func (t *Transport) connected(p *peer, where string) {
	p.mu.Lock()
	p.status.Connected, p.status.Since, p.status.Where, p.status.Refused = true, time.Now(), where, nil
	p.reported = nil
	p.mu.Unlock()
	t.log.Info("connected", "peer", p.name, "at", where)
	endpoint.Offer(t.opened, p.name)
}

// disconnected notes the end of a connection on which frames could flow.
func (t *Transport) disconnected(p *peer, err error) {
	p.mu.Lock()
	p.status.Connected, p.status.Since, p.status.Where, p.status.Err = false, time.Now(), "", err
	p.mu.Unlock()
	t.log.Info("disconnected", "peer", p.name, "reason", err)
}

// failed notes an attempt to connect that has failed. The same reason is a warning once, until a connection succeeds.
func (t *Transport) failed(p *peer, where string, err error) {
	if t.ctx.Err() != nil {
		return
	}
	text := err.Error()
	if op := (*net.OpError)(nil); errors.As(err, &op) {
		text = op.Err.Error() // without the port numbers, which always differ
	}
	p.mu.Lock()
	p.status.Err = fmt.Errorf("%s: %w", where, err)
	if errors.Is(err, errHello) {
		p.status.Refused = p.status.Err
	}
	repeated := p.reported[text]
	if p.reported == nil || len(p.reported) > 16 {
		p.reported = make(map[string]bool)
	}
	p.reported[text] = true
	p.mu.Unlock()
	level := endpoint.Level(repeated)
	t.log.Log(context.Background(), level, "no connection", "peer", p.name, "at", where, "reason", err)
}

// refused notes that an unknown caller was turned away. Such callers must not fill the log.
func (t *Transport) refused(from string, err error) {
	if t.ctx.Err() != nil {
		return
	}
	t.mu.Lock()
	repeated := time.Since(t.warned) < t.timing.refusals
	if !repeated {
		t.warned = time.Now()
	}
	t.mu.Unlock()
	t.log.Log(context.Background(), endpoint.Level(repeated), "caller refused", "at", from, "reason", err)
}
