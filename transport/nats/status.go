package nats

import (
	"context"
	"log/slog"

	"github.com/spade-dfl/spade-edge/transport"
)

// PeerStatus is what is known of the way to one peer.
type PeerStatus = transport.PeerStatus

// Peers returns the state of every peer, sorted by name.
func (t *Transport) Peers() []PeerStatus {
	connected, since, where, err := t.link.state()
	var all []PeerStatus
	for _, p := range t.sorted {
		p.mu.Lock()
		s := p.status
		p.mu.Unlock()
		s.Connected, s.Since, s.Where = connected, since, where
		if err != nil {
			s.Err = err
		}
		all = append(all, s)
	}
	return all
}

// refuse notes that something came in a peer's name and was not taken. The log tells of the first hundred, and then each time that their
// number has doubled: a broker must not be able to fill the disk.
func (t *Transport) refuse(p *peer, err error) {
	p.mu.Lock()
	p.status.Refusals++
	n := p.status.Refusals
	p.status.Err = err
	p.mu.Unlock()
	level := slog.LevelWarn
	if n > 100 && n&(n-1) != 0 {
		level = slog.LevelDebug
	}
	t.log.Log(context.Background(), level, "message refused", "from", p.name, "reason", err, "refused", n)
}
