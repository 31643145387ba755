package device

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/transport"
)

// neighbors is a Link that does nothing but report the given states of neighbors.
type neighbors struct {
	Link
	peers func() []transport.PeerStatus
}

func (n neighbors) Peers() []transport.PeerStatus { return n.peers() }

// TestRepeatedRefusals checks that a run ends after every neighbor has refused several hellos in a row; a single
// refusal does not end it.
func TestRepeatedRefusals(t *testing.T) {
	once := errors.New("refused once")
	refuse := func(name string, err error) transport.PeerStatus {
		return transport.PeerStatus{Name: name, Refused: err}
	}
	var asked int
	for _, c := range []struct {
		name  string
		peers func() []transport.PeerStatus
		ends  bool
	}{
		{"once, and silent since", func() []transport.PeerStatus {
			return []transport.PeerStatus{refuse("a", once)}
		}, false},
		{"again and again", func() []transport.PeerStatus {
			return []transport.PeerStatus{refuse("a", fmt.Errorf("refused: %w", once))}
		}, true},
		{"now and then", func() []transport.PeerStatus {
			if asked%3 == 0 {
				return []transport.PeerStatus{refuse("a", nil)}
			}
			return []transport.PeerStatus{refuse("a", fmt.Errorf("refused: %w", once))}
		}, false},
		{"one of two", func() []transport.PeerStatus {
			return []transport.PeerStatus{refuse("a", fmt.Errorf("refused: %w", once)), refuse("b", nil)}
		}, false},
		{"signed, through a broker", func() []transport.PeerStatus {
			return []transport.PeerStatus{{Name: "a", Refused: once, Broker: true}}
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asked = 0
				link := neighbors{peers: func() []transport.PeerStatus { asked++; return c.peers() }}
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(time.Hour, func() { cancel(ErrInterrupted) })
				(&Device{source: new(fleetfile.Source), link: link}).watch(ctx, cancel)
				if err := context.Cause(ctx); errors.Is(err, ErrMismatch) != c.ends {
					t.Errorf("the run ends with %v, want a mismatch %v", err, c.ends)
				}
			})
		})
	}
}
