package admm

import (
	"fmt"
	"slices"

	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// The steps of a round, in the order of Algorithm 1.

// startRound freezes the penalty and begins the local work; a cool-down round has none.
func (m *Machine) startRound() {
	m.penalty()
	clear(m.s)
	if m.round >= m.cfg.Rounds {
		m.commit()
		return
	}
	copy(m.phi, m.x)
	m.local, m.stage = true, 0
	m.est.Fill(m.round, m.x, m.cfg.Mu.At(m.round))
}

// penalty sets p = rho*|N_i|*x - sum_j z_ij, eq. (penalty), with the neighbors in ascending order.
func (m *Machine) penalty() {
	copy(m.p, m.x)
	vec.Scale(m.p, float32(m.cfg.Rho*float64(len(m.edges))))
	for i := range m.edges {
		vec.Axpy(m.p, -1, m.edges[i].z)
	}
}

// nextStage is called when the estimator has all answers of a stage: a full table, or an estimate for a local step.
func (m *Machine) nextStage() {
	if m.stage > 0 {
		v := m.est.Estimate()
		eta, mu := m.cfg.Eta.At(m.round), m.cfg.Mu.At(m.round)
		vec.Step(m.phi, float32(eta), v, float32(mu*m.cfg.Beta), m.p) // eq. (local-update)
		vec.Axpy(m.s, 1, v)
	}
	if m.stage == m.cfg.Tau {
		vec.Scale(m.s, float32(-m.cfg.Eta.At(m.round))) // s = -eta * sum_t v_t
		m.local = false
		m.commit()
		return
	}
	m.stage++
	m.est.Step(m.phi)
}

// commit makes the round's one release, eq. (private-release), and the messages that carry it, eq. (message).
func (m *Machine) commit() {
	k := m.round
	if k < m.cfg.Rounds && !m.cfg.NonPrivate {
		g := m.cfg.Privacy[min(k, len(m.cfg.Privacy)-1)]
		if err := m.mech.Release(m.s, g); err != nil {
			m.err = fmt.Errorf("admm: client %d, round %d: %w", m.client(), k, err)
			return
		}
	}
	gain := float64(m.cfg.Tau) * m.cfg.Eta.At(k) * m.cfg.Mu.At(k) * m.cfg.Beta
	vec.Axpy(m.x, -float32(gain), m.p)
	vec.Axpy(m.x, 1, m.s)
	// The new messages take the place of those of two rounds ago. Nobody can need them any more, as all neighbors have made
	// the release in between; an answer to a late repeat may still wait to be sent.
	m.send = slices.DeleteFunc(m.send, func(msg Message) bool { return !msg.Done && msg.Round == k-1 })
	bad := slices.IndexFunc(m.x, outOfRange)
	for i := range m.edges {
		e := &m.edges[i]
		out := e.out[(k+1)%2]
		copy(out, e.z)
		vec.Axpy(out, -float32(2*m.cfg.Rho), m.x)
		bad = max(bad, slices.IndexFunc(out, outOfRange))
	}
	if bad >= 0 {
		m.err = fmt.Errorf("admm: client %d, round %d: coordinate %d of the model has become too large (%v): the run diverges, try a smaller step or gain",
			m.client(), k, bad, m.x[bad])
		return
	}
	m.round, m.released = k+1, true
	for i := range m.edges {
		m.post(&m.edges[i], m.round, false)
	}
}

// updateZ takes in the neighbors' messages of the round, eq. (z-update): z_ij = (z_ij - m_ji)/2.
func (m *Machine) updateZ() {
	for i := range m.edges {
		e := &m.edges[i]
		vec.Sub(e.z, e.z, e.in[m.round%2])
		vec.Scale(e.z, 0.5)
	}
}

// sayDone tells every neighbor, once, that its last message has arrived.
func (m *Machine) sayDone() {
	if m.saidDone {
		return
	}
	m.saidDone = true
	for i := range m.edges {
		m.post(&m.edges[i], m.last()+1, false)
	}
}

// last returns the number of the last release, K + C.
func (m *Machine) last() int { return m.cfg.Rounds + m.cfg.Cooldown }

// client returns the client's own number.
func (m *Machine) client() int { return int(m.cfg.Estimator.Client) }
