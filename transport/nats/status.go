package nats

import (
	"context"

	"github.com/spade-dfl/spade-edge/transport"
	"github.com/spade-dfl/spade-edge/transport/internal/endpoint"
)

// Peers returns the state of every peer, sorted by name.
func (t *Transport) Peers() []transport.PeerStatus {
	connected, since, where, err := t.link.state()
	var all []transport.PeerStatus
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

// refuse notes that a message in a peer's name was refused. The log has the first hundred as warnings, and then one
// each time that their number has doubled: a broker must not be able to fill the disk.
func (t *Transport) refuse(p *peer, err error) {
	p.mu.Lock()
	p.status.Refusals++
	n := p.status.Refusals
	p.status.Err = err
	p.mu.Unlock()
	level := endpoint.Level(n > 100 && n&(n-1) != 0)
	t.log.Log(context.Background(), level, "message refused", "from", p.name, "reason", err, "refused", n)
}
