package transport

import (
	"errors"
	"testing"
)

type peers struct {
	Transport
	all []PeerStatus
}

func (p peers) Peers() []PeerStatus { return p.all }

// TestWays checks that a line has each member with the state of its connection.
func TestWays(t *testing.T) {
	p := peers{all: []PeerStatus{{Name: "c", Connected: true}, {Name: "a", Err: errors.New("wss://a:1/: dial tcp: connection refused")}}}
	for want, names := range map[string][]string{
		`"a" (not connected: wss://a:1/: dial tcp: connection refused), "c" (connected), "e" (not a neighbor)`: {"a", "c", "e"},
		``: nil,
	} {
		if got := Ways(p, names); got != want {
			t.Errorf("%q: %s\nwant\n%s", names, got, want)
		}
	}
}
