package nats

import (
	"context"
	"log/slog"
	"time"
)

// PeerStatus is what is known of the way to one peer.
type PeerStatus struct {
	Name      string
	Connected bool      // the broker is reached, and what is sent to the peer waits there
	Since     time.Time // of the last change of Connected; zero if there never was a connection
	Where     string    // the server, if connected
	Heard     time.Time // when a message that is certainly the peer's came in last; zero for never
	Err       error     // what is wrong with the way to the broker, or was last with what came in the peer's name; nil if nothing

	// Sent and Received count the bytes of sealed messages that the broker has taken for this peer and has delivered from it,
	// good or bad, without what is around a message.
	Sent, Received int64

	// Refusals counts what came in the peer's name and was not taken.
	Refusals int64

	// Refused says that the peer, by its own signed word, means another fleet; nil if it has said otherwise since. What it had
	// said before this node was here does not count.
	Refused error
}

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
