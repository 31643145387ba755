package admm

import (
	"fmt"
	"math"
	"slices"
)

// forge replaces a message from node 0 with an adversary's message. The adversary knows everything public about the
// receiver, in particular the center of its next release. With rare exceptions, it chooses one message per incarnation
// and round of the receiver. forge returns false if the adversary waits.
func (w *world) forge(n *node, p *packet) bool {
	r, m := p.msg.Round, n.m
	if !carries(p.msg) || !n.up {
		return true
	}
	key := [3]int{n.id, n.incarnation, r}
	made, ok := w.forged[key]
	if !ok || w.chance.IntN(32) == 0 {
		if m.round < r && w.chance.IntN(8) > 0 {
			return false
		}
		made = w.aim(m, p)
		w.forged[key] = made
	}
	copy(p.vector[:p.nv], made.Vector)
	copy(p.grid[:p.ng], made.Grid)
	return true
}

// aim invents a message. The message moves the center of the receiver's next release just inside or just outside the
// edge of the center's range, or has numbers that are as large as possible. Sometimes aim returns the honest message.
func (w *world) aim(m *Machine, p *packet) Payload {
	made := Payload{slices.Clone(p.vector[:p.nv]), slices.Clone(p.grid[:p.ng])}
	i := slices.IndexFunc(m.edges, func(e edge) bool { return e.peer == p.msg.From })
	kind := w.chance.IntN(16)
	if i < 0 || kind < 3 {
		return made
	}
	w.tally.aimed++
	e := &m.edges[i]
	rho, gain := m.cfg.Rho, float64(m.cfg.Tau)*m.cfg.Eta.At(m.round)*m.cfg.Mu.At(m.round)*m.cfg.Beta
	step := 1.0
	if m.grid != nil {
		step = m.cfg.GridStep
	}
	for c := range max(p.nv, p.ng) {
		size, sign := float64(limit), float64(1-2*w.chance.IntN(2))
		if m.onGrid(m.round + 1) {
			// The edge of the grid lies between two float32 numbers. size is one of the float32 numbers near the edge.
			size = (gridLimit - 64*float64(w.chance.IntN(20)-3)) * step
		} else {
			size = limit - float64(w.chance.IntN(8)-2)*m.cfg.Privacy.Sigma
		}
		// The center is x - gain*(rho*|N|*x - sum_j z_ij). The variable z is the value of this edge's z_ij that moves
		// the center to sign*size. By eq. (10), the message m_ji = z_ij - 2z sets z_ij to this value.
		x := float64(m.x[c])
		z := rho*float64(len(m.edges))*x - (x-sign*size)/gain
		for k := range m.edges {
			if k != i {
				z -= float64(m.zOf(k)[c])
			}
		}
		mji := float64(m.zOf(e.index)[c]) - 2*z
		if kind == 3 {
			mji = sign * limit
		}
		value := (float64(m.peerZ[e.index*len(m.x)+c]) - mji) / (2 * rho)
		if p.nv > 0 {
			made.Vector[c] = float32(max(-limit, min(limit, value)))
			continue
		}
		wide := 2 * m.cfg.lastStep() // a longer change is impossible: the receiver would quarantine its sender
		made.Grid[c] = int32(max(-wide, min(wide, math.RoundToEven(value/step)-float64(m.base[e.index*len(m.x)+c]))))
	}
	return made
}

// atEdge counts a release that the adversary moved to the edge of the public bound, or nearly so.
func (w *world) atEdge(n *node) {
	m := n.m
	out := slices.ContainsFunc(m.x, func(x float32) bool { return max(x, -x) == limit })
	if m.onGrid(m.round) {
		edge := m.cfg.lastStep() - (m.cfg.reach()+14*m.cfg.deviation())/m.cfg.GridStep
		out = slices.ContainsFunc(m.grid, func(n int32) bool { return float64(max(n, -n)) >= edge })
	}
	if !out {
		return
	}
	w.tally.edge++
	if w.plant == fatalEdge {
		n.granted = true
		w.halt(n, fmt.Errorf("admm: out of range: %s", advice))
	}
}
