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

// TestWays checks that members which cannot be reached for the same reason share a description without addresses.
func TestWays(t *testing.T) {
	p := peers{all: []PeerStatus{{Name: "c", Connected: true}}}
	for _, name := range []string{"a", "b", "d"} {
		p.all = append(p.all, PeerStatus{Name: name, Err: errors.New("wss://" + name + ":1/: dial tcp: connection refused")})
	}
	for want, names := range map[string][]string{
		`"a", "b", "d" (each not connected: connection refused), "c" (connected), "e" (not a neighbor)`:                                {"a", "b", "c", "d", "e"},
		`"a" (not connected: wss://a:1/: dial tcp: connection refused), "b" (not connected: wss://b:1/: dial tcp: connection refused)`: {"a", "b"},
	} {
		if got := Ways(p, names); got != want {
			t.Errorf("%q: %s\nwant\n%s", names, got, want)
		}
	}
}
