package admm

import (
	"errors"
	"fmt"
)

// State holds everything, besides Config, that determines the bits of later rounds. The driver stores the state before
// it sends the release.
type State struct {
	Round int       // the release just made
	X     []float32 // x_i, length d
	Grid  []int32   // x_i in grid steps; nil without Config.GridStep
	Delta []int32   // the release's change in steps, as sent; nil without Config.GridStep and after a cool-down round
	Last  []float32 // the estimator's memory, see [zoest.Estimator.Memory]; nil for the paper's estimator
	Edges []EdgeState

	Queries, Failed int64 // for Status
}

// Forget replaces what the estimator remembers by what it remembers at the start of a run: nothing. Call it, before
// [Restore], if the losses to come are those of other data, perhaps of another number of samples.
func (s *State) Forget(c Config) { s.Last = make([]float32, c.Estimator.Memory()) }

// EdgeState is what a client stores about a neighbor.
type EdgeState struct {
	Peer       int
	Heard      int       // the highest release of the neighbor that this client ever held
	Z          []float32 // z_ij
	PeerZ      []float32 // z_ji
	Flow       []float32 // f_ij; nil without mixing and cool-down
	Base       []int32   // the neighbor's grid point to which its next change applies; nil without a grid
	Quarantine int       // the first release made without the neighbor; 0 while the edge is in use
}

// State returns the state of the release that Ready just reported. The slices of the state are valid until the next
// call of one of the machine's methods.
func (m *Machine) State() State {
	s := State{Round: m.round, X: m.x, Grid: m.grid, Last: m.est.Memory(), Queries: m.counts.queries,
		Failed: m.counts.failed}
	if m.cfg.onGrid(m.round) {
		s.Delta = m.out[m.round%2].Grid
	}
	for i := range m.edges {
		e := &m.edges[i]
		s.Edges = append(s.Edges, EdgeState{Peer: e.peer, Heard: e.heard, Quarantine: e.cut,
			Z: part(m.z, i, len(m.x)), PeerZ: part(m.peerZ, i, len(m.x)), Base: part(m.base, i, len(m.x)),
			Flow: m.flow(i)})
	}
	return s
}

// Restore returns a machine that continues after the release of a stored state (newest) and computes the same bits as a
// machine that was never interrupted. The argument named before is the state of the previous release, whose message a
// neighbor may still need. It may be nil if a crash damaged that state while the newest state was being stored, because
// then every neighbor has the previous release. Restore copies both states.
func Restore(cfg Config, newest State, before *State) (*Machine, error) {
	m, err := New(cfg)
	if err != nil {
		return nil, err
	}
	m.send = m.send[:0]
	if err := m.check(newest); err != nil {
		return nil, err
	}
	lost := newest.Round - 1
	if before != nil && newest.Round > 1 {
		before := *before
		before.Last = newest.Last // no round begins with its own, which may be of other data
		if err := m.check(before); err != nil {
			return nil, err
		}
		if before.Round != lost {
			return nil, fmt.Errorf("admm: the stored states belong to releases %d and %d, want consecutive releases",
				before.Round, newest.Round)
		}
		m.load(before)
		lost = 0
	}
	m.load(newest)
	m.lost = lost
	m.start()
	return m, nil
}

// load sets the machine to a state and recreates the messages of its release.
func (m *Machine) load(s State) {
	m.round = s.Round
	copy(m.x, s.X)
	copy(m.grid, s.Grid)
	copy(m.est.Memory(), s.Last)
	m.counts.queries, m.counts.failed = s.Queries, s.Failed
	for i, from := range s.Edges {
		e := &m.edges[i]
		e.heard, e.cut = from.Heard, 0
		if from.Quarantine > 0 {
			m.Quarantine(e.peer)
			e.cut = min(from.Quarantine, s.Round+1) // releases that arrived but were not used are lost
		}
		copy(part(m.z, i, len(m.x)), from.Z)
		copy(part(m.peerZ, i, len(m.x)), from.PeerZ)
		copy(part(m.base, i, len(m.x)), from.Base)
		copy(m.flow(i), from.Flow)
	}
	m.round-- // writeMessages belongs to the round that ends with the release
	if m.cfg.onGrid(s.Round) {
		m.out[s.Round%2].set(Payload{Grid: s.Delta})
	}
	m.writeMessages()
	m.round++
}

// check returns an error if a state does not belong to this client.
func (m *Machine) check(s State) error {
	own, delta := m.State(), 0 // own has the lengths of each state, but for Delta
	if m.cfg.onGrid(s.Round) {
		delta = len(m.x)
	}
	var errs []error
	want := func(what string, n, low, high int) {
		if n < low || n > high {
			wanted := fmt.Sprint(low)
			if low < high {
				wanted = fmt.Sprintf("%d to %d", low, high)
			}
			errs = append(errs, fmt.Errorf("admm: stored state: %s is %d, want %s", what, n, wanted))
		}
	}
	length := func(of string, n, most int) { want("the length of "+of, n, most, most) }
	want("the release", s.Round, 1, m.last())
	length("the model", len(s.X), len(own.X))
	length("the model on the grid", len(s.Grid), len(own.Grid))
	length("the change on the grid", len(s.Delta), delta)
	length("the estimator's memory", len(s.Last), len(own.Last))
	length("the list of neighbors", len(s.Edges), len(own.Edges))
	for i, e := range s.Edges[:min(len(s.Edges), len(own.Edges))] {
		is, of := own.Edges[i], fmt.Sprintf(" of neighbor %d", i)
		want("the client number"+of, e.Peer, is.Peer, is.Peer)
		want("the newest release"+of, e.Heard, 0, m.last())
		want("the first release without the messages"+of, e.Quarantine, 0, max(0, s.Round)+3)
		length("the z"+of, len(e.Z), len(is.Z))
		length("the other z"+of, len(e.PeerZ), len(is.PeerZ))
		length("the flow"+of, len(e.Flow), len(is.Flow))
		length("the grid point"+of, len(e.Base), len(is.Base))
	}
	if beyond(s.X, limit) >= 0 {
		errs = append(errs, fmt.Errorf("admm: stored state: the model has a coordinate that is NaN, or above %v in absolute value",
			limit))
	}
	return errors.Join(errs...)
}
