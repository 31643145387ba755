package transport

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Silence tracks how long each neighbor has been silent and when its silence must be reported. It is safe for
// concurrent use.
type Silence struct {
	mu         sync.Mutex
	since, due map[string]time.Time // since the last message; when silence is next reported
}

// NewSilence returns a Silence that tracks the given neighbors, as if each had just sent a message at the time now. A
// silence must be reported once it has lasted for the duration "after".
func NewSilence(now time.Time, neighbors []string, after time.Duration) *Silence {
	s := &Silence{since: map[string]time.Time{}, due: map[string]time.Time{}}
	for _, name := range neighbors {
		s.since[name], s.due[name] = now, now.Add(after)
	}
	return s
}

// Hear records that a neighbor sent a message at the time now. The neighbor's silence must be reported at now+after,
// unless another message arrives before that.
func (s *Silence) Hear(name string, now time.Time, after time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.since[name]; ok {
		s.since[name], s.due[name] = now, now.Add(after)
	}
}

// Due returns the sorted names of the neighbors whose silence must be reported now, and the longest of their silences.
// It returns a neighbor again once the neighbor's silence has doubled or has grown by an hour, whichever comes first.
func (s *Silence) Due(now time.Time) (names []string, longest time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, due := range s.due {
		if silent := now.Sub(s.since[name]); !now.Before(due) {
			s.due[name] = now.Add(min(silent, time.Hour))
			names, longest = append(names, name), max(longest, silent)
		}
	}
	slices.Sort(names)
	return names, longest
}

// Ways describes the connections to the named members in one line, such as `"lab" (not connected: connection refused)`. If
// the transport has no method Peers, the line contains only the names.
func Ways(t Transport, names []string) string {
	peers, all := peersOf(t), make([]string, len(names))
	for i, name := range names {
		all[i] = strconv.Quote(name)
		if state := way(peers, name); state != "" {
			all[i] += " (" + state + ")"
		}
	}
	return strings.Join(all, ", ")
}

// Way describes the connection to the named member in words: see [PeerStatus.State]. The result is "" if the transport
// has no method Peers.
func Way(t Transport, name string) string { return way(peersOf(t), name) }

// peersOf returns the state of every peer; nil if the transport has no method Peers.
func peersOf(t Transport) []PeerStatus {
	if has, ok := t.(interface{ Peers() []PeerStatus }); ok {
		return has.Peers()
	}
	return nil
}

func way(peers []PeerStatus, name string) string {
	if i := slices.IndexFunc(peers, func(p PeerStatus) bool { return p.Name == name }); i >= 0 {
		return peers[i].State()
	} else if len(peers) > 0 {
		return "not a neighbor"
	}
	return ""
}

// State describes the connection to the peer in a few words, such as "not connected: connection refused".
func (p *PeerStatus) State() string {
	state := "connected"
	if !p.Connected {
		state = "not connected"
	}
	if p.Broker {
		state += " to the broker"
	}
	if !p.Heard.IsZero() {
		state += ", last heard " + p.Heard.Format(time.RFC3339)
	}
	if p.Err != nil && !p.Connected {
		state += ": " + p.Err.Error()
	}
	return state
}
