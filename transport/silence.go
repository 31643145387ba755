package transport

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Silence knows how long nothing has come of each neighbor, and when that is worth a line. Its methods may be called from any
// goroutine.
type Silence struct {
	mu         sync.Mutex
	since, due map[string]time.Time // the last sign of life, and when silence is reported next
}

// NewSilence begins with neighbors of which nothing has come. Their silence is due after some time.
func NewSilence(now time.Time, neighbors []string, after time.Duration) *Silence {
	s := &Silence{since: map[string]time.Time{}, due: map[string]time.Time{}}
	for _, name := range neighbors {
		s.since[name], s.due[name] = now, now.Add(after)
	}
	return s
}

// Hear notes that something has come of a neighbor, whose silence is now due after some time.
func (s *Silence) Hear(name string, now time.Time, after time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.since[name]; ok {
		s.since[name], s.due[name] = now, now.Add(after)
	}
}

// Due returns the neighbors whose silence is due, sorted, and the longest of their silences. Each is due again when its
// silence has doubled, or has grown by an hour.
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

// Ways says in one line what a transport that has Peers knows of the ways to members: `"lab" (not connected: connection
// refused)`. Others have names only.
func Ways(t Transport, names []string) string {
	var peers []PeerStatus
	if has, ok := t.(interface{ Peers() []PeerStatus }); ok {
		peers = has.Peers()
	}
	var all []string
	for _, name := range names {
		text := fmt.Sprintf("%q", name)
		if i := slices.IndexFunc(peers, func(p PeerStatus) bool { return p.Name == name }); i >= 0 {
			text += " (" + peers[i].State() + ")"
		} else if len(peers) > 0 {
			text += " (no neighbor has passed on its key)"
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

// State says in a few words how the way to the peer stands: "not connected: connection refused".
func (p *PeerStatus) State() string {
	state := map[bool]string{true: "connected", false: "not connected"}[p.Connected]
	if !p.Heard.IsZero() {
		state += ", last heard " + p.Heard.Format(time.RFC3339)
	}
	if p.Err != nil && !p.Connected {
		state += ": " + p.Err.Error()
	}
	return state
}
