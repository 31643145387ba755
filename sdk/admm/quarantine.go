package admm

import (
	"errors"
	"slices"
)

// Verdict reports a neighbor whose edge the machine has dropped, because its release is one that no honest member makes,
// see [Config.Impossible].
type Verdict struct {
	Message // the release as received
	Why     string
}

// ErrImpossible is wrapped by the error of [Machine.Receive] for a release in a form that no honest member sends. The
// driver decides whether to drop the edge.
var ErrImpossible = errors.New("no honest member sends this")

// errQuarantine is the error for a message from a neighbor in quarantine.
var errQuarantine = errors.New("admm: the edge to the sender is in quarantine")

// Quarantine drops the edge to a neighbor for the rest of the run. It returns the number of the first release made
// without the neighbor, or 0 if there is no such neighbor. A second call changes nothing.
//
// The client still uses the neighbor's releases that have arrived. If the neighbor's release r is the first that has
// not arrived, the client's release r+1 is the first made without the neighbor. So the result depends on what the
// neighbor sent and in which order, and not on local work, which depends on data.
//
// After the call the client exchanges no messages with the neighbor. In releases made without the neighbor, the penalty
// of eq. (6) omits z_ij, and |N_i| is one less. These releases share noise with the remaining neighbors or, once more
// than [dpmech.Shared].Absent neighbors are dropped, have no pairwise noise.
//
// Removing an edge increases no eigenvalue of the graph's Laplacian, so stable step sizes stay stable.
func (m *Machine) Quarantine(peer int) int {
	e := m.edge(peer)
	if e == nil {
		return 0
	}
	if e.cut == 0 {
		next := m.round + 1
		if m.work.local || m.work.due { // the penalty is frozen
			next++
		}
		for e.at(next-1) >= 0 { // the neighbor's message that release next needs has arrived
			next++
		}
		e.cut = next
		m.send = slices.DeleteFunc(m.send, func(msg Message) bool { return msg.To == peer })
	}
	return e.cut
}

// Quarantined returns the number of the first release that is made without the given neighbor, or 0 if the edge to this
// neighbor is in use.
func (m *Machine) Quarantined(peer int) int { return m.known(peer).cut }

// Alone reports whether the client has neighbors and all of them are in quarantine.
func (m *Machine) Alone() bool { return len(m.edges) > 0 && m.live() == 0 }

// Verdicts returns the verdicts since the last call.
func (m *Machine) Verdicts() []Verdict {
	v := m.verdicts
	m.verdicts = nil
	return v
}

func (m *Machine) dropped(i int) bool { return m.edges[i].cut > 0 }

// gone reports whether the i-th edge is unused in the release in progress, or in the next release if none is in
// progress.
func (m *Machine) gone(i int) bool { return m.dropped(i) && m.edges[i].cut <= m.round+1 }

// live returns the number of edges used by the release in progress, or by the next release if none is in progress.
func (m *Machine) live() int {
	n := len(m.edges)
	for i := range m.edges {
		if m.gone(i) {
			n--
		}
	}
	return n
}

// dropImpossible quarantines neighbors whose release of this round is impossible, before the release is used. The
// machine has checked the form of a release on receipt.
func (m *Machine) dropImpossible() {
	bound := m.cfg.boundOf(m.round)
	for i := range m.edges {
		e := &m.edges[i]
		at := e.at(m.round)
		if at < 0 || m.gone(i) {
			continue
		}
		p := m.held(e, at)
		if err := bound.outside(m.round, p); err != nil {
			m.verdicts = append(m.verdicts, Verdict{Message{Kind: Release, From: e.peer, Round: m.round,
				Vector: slices.Clone(p.Vector), Grid: slices.Clone(p.Grid)}, err.Error()})
			m.Quarantine(e.peer)
			e.cut = m.round + 1
		}
	}
}
