package admm

import (
	"fmt"
	"math"
	"slices"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// The steps of a round, in the order of Algorithm 1.

// progress is where a client is in a round.
type progress struct {
	local   bool // the round's local work is in progress
	stage   int  // stage of the local work: 0 fills the table, t > 0 is local step t
	due     bool // the local work is done, and the release is due
	aimed   bool // the center is computed, and the driver knows that it must reserve a private release
	reserve bool // the driver does not know yet that it must reserve the due release
}

// startRound freezes the penalty and begins the local work. Mixing and cool-down rounds have no local work: the client
// moves by the sum of its flows.
func (m *Machine) startRound() {
	clear(m.s)
	if !m.touchesData() {
		for i := range m.edges { // the sum of the flows, in grid steps if the release is on the grid
			if !m.gone(i) {
				vec.Axpy(m.s, 1, m.flow(i))
			}
		}
		m.work.due = true
		return
	}
	m.penalty()
	copy(m.phi, m.x)
	m.work.local, m.work.stage = true, 0
	m.est.Fill(m.k(), m.x, m.cfg.Mu.At(m.k()))
}

// k returns the index, counted from 0, of the current round of Algorithm 1, or of its last round once all rounds are
// over.
func (m *Machine) k() int { return max(1, m.cfg.Data(m.round+1)) - 1 }

// touchesData reports whether the release in progress is one of the K releases with data.
func (m *Machine) touchesData() bool { return m.cfg.Data(m.round+1) > m.cfg.Data(m.round) }

// penalty sets p = rho*|N_i|*x - sum_j z_ij (eq. (6)), adding the neighbors' terms in ascending order.
func (m *Machine) penalty() {
	copy(m.p, m.x)
	vec.Scale(m.p, float32(m.cfg.Rho*float64(m.live())))
	for i := range m.edges {
		if !m.gone(i) {
			vec.Axpy(m.p, -1, part(m.z, i, len(m.p)))
		}
	}
	clamp(m.p)
}

// nextStage completes a stage of the estimator: a full table, or an estimate for a local step. In a run that protects
// each record, phi does not move, and no estimate combines all records.
func (m *Machine) nextStage() {
	if m.work.stage > 0 && !m.each() {
		v := m.est.Estimate()
		eta, mu := m.cfg.Eta.At(m.k()), m.cfg.Mu.At(m.k())
		vec.Step(m.phi, float32(eta), v, float32(mu*m.cfg.Beta), m.p) // eq. (7), local-update
		clamp(m.phi)
		vec.Axpy(m.s, 1, v)
	}
	if m.work.stage == m.cfg.Tau {
		if !m.each() {
			vec.Scale(m.s, float32(-m.cfg.Eta.At(m.k()))) // s = -eta * sum_t v_t
			m.est.Carry(m.s)
		}
		m.work.local, m.work.due = false, true
		return
	}
	m.work.stage++
	m.est.Step(m.phi)
}

// aim computes the center of eq. (8), x_i,k - tau*eta*mu*beta*p, before a release is reserved. A client without
// neighbors fails here if its own steps diverge. Neighbors cannot make a client fail, because the method release clips
// to the public bound.
func (m *Machine) aim() {
	m.work.aimed = true
	copy(m.center, m.x)
	if m.touchesData() {
		vec.Axpy(m.center, -float32(m.gain()), m.p)
	}
	if len(m.edges) == 0 {
		m.fail(m.inRange(m.center, m.cfg.onGrid(m.round+1)))
	}
}

// gain returns tau*eta*mu*beta of the round in progress: the step of the release along the penalty.
func (m *Machine) gain() float64 {
	return float64(m.cfg.Tau) * m.cfg.Eta.At(m.k()) * m.cfg.Mu.At(m.k()) * m.cfg.Beta
}

func (m *Machine) fail(err error) {
	if err != nil {
		m.err = fmt.Errorf("admm: round %d: %w", m.round, err)
	}
}

const advice = "the model has diverged; try a smaller step or gain"

// inRange returns an error if x cannot be a model, or has no grid point.
func (m *Machine) inRange(x []float32, onGrid bool) error {
	if !onGrid {
		if i := beyond(x, limit); i >= 0 {
			return fmt.Errorf("coordinate %d of the model has become too large (%v): %s", i, x[i], advice)
		}
		return nil
	}
	for i, x := range x {
		if !(math.Abs(m.quantize(x)) <= m.cfg.lastStep()) {
			return fmt.Errorf("coordinate %d of the model has become too large (%v, with a grid step of %v): %s",
				i, x, m.cfg.GridStep, advice)
		}
	}
	return nil
}

// commit makes the round's only release (eq. (8)) and the messages that carry it (eq. (9)).
func (m *Machine) commit() {
	if err := m.release(); err != nil {
		m.fail(err)
		return
	}
	// The new messages replace the messages of two rounds ago, which may still be unsent.
	m.send = slices.DeleteFunc(m.send, func(msg Message) bool { return msg.Kind == Release && msg.Round == m.round-1 })
	m.writeMessages()
	m.round++
	m.released, m.begun, m.work.due, m.work.aimed = true, true, false, false
	for i := range m.edges {
		m.post(&m.edges[i], m.round, false)
	}
}

// release turns x_i,k into x_i,k+1: the public center plus the update, which in a private run is clipped and noised.
//
// A neighbor, which can choose the center, must learn nothing about data or noise from a failure after the draw. So a
// private release fails only if noise is unavailable, before the update is read. Center and sum are clipped to the
// public bound, and messages and z are clamped; all of this depends only on the release and on what was received. So
// the state can be encoded whatever was drawn. A client without neighbors and noise ends with an error if its update
// leaves the range.
func (m *Machine) release() error {
	k, bound := m.round, m.cfg.boundOf(m.round+1)
	if m.cfg.onGrid(k + 1) {
		steps := resized(&m.out[(k+1)%2].Grid, len(m.x))
		if m.private() {
			if err := m.draw(steps); err != nil {
				return err
			}
		} else {
			for i, flow := range m.s { // zero in a round without flows
				steps[i] = int32(max(-gridLimit, min(gridLimit, flow)))
			}
		}
		outside := false
		for i, n := range steps {
			to := m.quantize(m.center[i]) + float64(n)
			at := int32(bound.onGrid(i, to))
			outside = outside || float64(at) != to
			steps[i], m.grid[i] = at-m.grid[i], at
			m.x[i] = m.dequantize(at)
		}
		m.outgrow(outside)
		return nil
	}
	if m.private() {
		if err := m.draw(nil); err != nil {
			return err
		}
	}
	if len(m.edges) == 0 && !m.private() {
		copy(m.x, m.center)
		vec.Axpy(m.x, 1, m.s)
		return m.inRange(m.x, false)
	}
	outside := bound.keepIn(m.center, m.x)
	copy(m.x, m.center)
	vec.Axpy(m.x, 1, m.s)
	m.outgrow(bound.keepIn(m.x, m.center) || outside)
	return nil
}

// noise returns the clip and the noise of the release in progress, and the keys of pairwise noise, which the caller
// must clear. Without Config.Partners, the release has only local noise if more than [dpmech.Shared].Absent neighbors
// are dropped.
func (m *Machine) noise() (g dpmech.Gaussian, pairs []dpmech.Pair) {
	if g = m.cfg.Privacy; m.cfg.PairKey == nil {
		return g, nil
	}
	m.pairs = m.pairs[:0]
	share := func(peer int) {
		m.pairs = append(m.pairs, dpmech.Pair{Key: m.cfg.PairKey(peer, m.round+1), Subtract: m.client() > peer})
	}
	switch {
	case m.cfg.Partners != nil:
		for _, peer := range m.cfg.Partners {
			share(peer)
		}
	case len(m.edges)-m.live() > g.Shared.Absent:
		return g.Alone(), nil
	default:
		for i := range m.edges {
			if !m.gone(i) {
				share(m.edges[i].peer)
			}
		}
	}
	return g, m.pairs
}

// gridLimit bounds grid coordinates so that no change between two of them overflows.
const gridLimit = 1 << 30

// quantize returns the index of the grid point nearest to x.
func (m *Machine) quantize(x float32) float64 { return math.RoundToEven(float64(x) / m.cfg.GridStep) }

// clamp limits numbers to -limit..limit. Both ends of an edge clamp the same numbers.
func clamp(x []float32) {
	if small(x) {
		return
	}
	for i, v := range x {
		x[i] = max(-limit, min(limit, v))
	}
}

func (m *Machine) dequantize(n int32) float32 { return float32(float64(n) * m.cfg.GridStep) }

// resized returns a slice of length n that reuses *s's storage if possible.
func resized[T any](s *[]T, n int) []T {
	*s = slices.Grow((*s)[:0], n)[:n]
	return *s
}

func (m *Machine) writeMessages() {
	if out := &m.out[(m.round+1)%2]; m.cfg.onGrid(m.round + 1) {
		out.Vector = out.Vector[:0] // the method release wrote the change on the grid
	} else {
		out.set(Payload{Vector: m.x})
	}
}

// updateZ uses the neighbors' releases of the round. Before a round without data it updates the flows. Before a round
// with data it applies eq. (10), z_ij = (z_ij - m_ji)/2: from the two releases, each end of an edge computes the messages
// of both ends, with the same arithmetic, and updates z_ij and z_ji.
func (m *Machine) updateZ() {
	data, bound := m.touchesData(), m.cfg.boundOf(m.round)
	kept := m.s // scratch space, unused between two rounds
	for i := range m.edges {
		e := &m.edges[i]
		at := e.at(m.round)
		if m.gone(i) || at < 0 {
			clear(m.flow(i))
			continue
		}
		in, z := m.held(e, at), part(m.z, i, len(m.x))
		peerZ, base := part(m.peerZ, i, len(m.x)), part(m.base, i, len(m.x))
		xj := m.taken(in, base, bound, kept)
		if !data {
			m.setFlow(i, xj, base)
			continue
		}
		m.exchange(z, peerZ, xj)
		clamp(z)
		clamp(peerZ)
	}
}

// exchange computes the messages of both ends of an edge, m = z - 2*rho*x (eq. (9)), and updates z_ij and z_ji.
func (m *Machine) exchange(z, peerZ, xj []float32) {
	twice := float32(2 * m.cfg.Rho)
	peerZ, xj, x := peerZ[:len(z)], xj[:len(z)], m.x[:len(z)]
	for c, own := range z {
		peer := peerZ[c]
		z[c] = (own - (peer - float32(twice*xj[c]))) * 0.5
		peerZ[c] = (peer - (own - float32(twice*x[c]))) * 0.5
	}
}

// taken returns a neighbor's model after a release, clipped to the given box. It writes the model to room and
// returns room. It also updates base, the neighbor's grid point.
func (m *Machine) taken(in Payload, base []int32, bound box, room []float32) []float32 {
	if len(in.Grid) == 0 {
		copy(room, in.Vector)
		bound.keepIn(room, m.x)
	}
	for c, change := range in.Grid {
		base[c] = int32(bound.onGrid(c, float64(base[c])+float64(change)))
		room[c] = m.dequantize(base[c])
	}
	return room
}

// measured is the mean of |x_i - x_j|^2 over the neighbors, after the release of a round; 0: none.
type measured struct {
	round int
	error float64
}

// compare measures the consensus error once per round. The run does not depend on it.
func (m *Machine) compare() {
	if m.live() == 0 || m.measured.round == m.round || !m.all(func(e *edge) bool { return e.holds(m.round) }) {
		return
	}
	var sum float64
	for i := range m.edges {
		e := &m.edges[i]
		if m.gone(i) {
			continue
		}
		p, base := m.held(e, e.at(m.round)), part(m.base, i, len(m.x))
		for c, x := range m.x {
			var off float64
			if len(p.Grid) == 0 {
				off = float64(p.Vector[c]) - float64(x)
			} else {
				off = float64(m.dequantize(base[c]+p.Grid[c])) - float64(x)
			}
			sum += float64(off * off)
		}
	}
	m.measured = measured{m.round, sum / float64(m.live())}
}

// sayDone sends every neighbor one Done, which says that the neighbor's last message has arrived and that this client
// needs nothing more.
func (m *Machine) sayDone() {
	if m.saidDone {
		return
	}
	m.saidDone = true
	for i := range m.edges {
		m.postDone(&m.edges[i], false)
	}
}

func (m *Machine) client() int { return int(m.cfg.Estimator.Client) }
