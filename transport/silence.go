package transport

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Silence knows since when nothing has come of each neighbor, and when that is worth a line: see [Silence.Due]. Its methods
// may be called from any goroutine.
type Silence struct {
	later time.Duration
	mu    sync.Mutex
	all   map[string]quiet
}

// quiet is since when a neighbor is silent, and how long that may last before it is due.
type quiet struct {
	since time.Time
	due   time.Duration
}

// NewSilence starts the clocks of neighbors. Of those that have been heard silence is due after later, before after first.
func NewSilence(now time.Time, neighbors []string, first, later time.Duration) *Silence {
	s := &Silence{later: later, all: map[string]quiet{}}
	for _, name := range neighbors {
		s.all[name] = quiet{now, first}
	}
	return s
}

// Hear notes that something has come of a neighbor.
func (s *Silence) Hear(name string, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.all[name]; ok {
		s.all[name] = quiet{now, s.later}
	}
}

// Due returns the neighbors whose silence is due, sorted, and the longest of their silences. Each is due again when its
// silence has doubled, or has grown by an hour.
func (s *Silence) Due(now time.Time) (names []string, longest time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, of := range s.all {
		if silent := now.Sub(of.since); silent >= of.due {
			s.all[name] = quiet{of.since, silent + min(silent, time.Hour)}
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
			text += " (" + peers[i].state() + ")"
		} else if len(peers) > 0 {
			text += " (no neighbor has passed on its key)"
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

func (p *PeerStatus) state() string {
	state := "not connected"
	if p.Connected {
		state = "connected"
	}
	if !p.Heard.IsZero() {
		state += ", last heard " + p.Heard.Format(time.RFC3339)
	}
	if p.Err != nil && !p.Connected {
		state += ": " + p.Err.Error()
	}
	return state
}
