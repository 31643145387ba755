package admm

import "math"

// Consensus defines how members move in rounds without data. A member moves by the sum of its flows f_ij over the
// neighbors j. In each of these rounds, a flow becomes carry*f_ij + weight*(x_j - x_i). Both ends of an edge compute
// the same flow, to the bit and with opposite signs, so the mean of all models does not move.
//
// z_ij does not change during a block of mixing. The z-update after the last round of the block uses the final x, so
// the sum of p stays zero, and z_ij + z_ji = rho*(x_i + x_j) holds. The method stays stable if the block multiplies the
// disagreement in each mode of the graph by a factor in 0..1.
type Consensus interface {
	Mixing(t, n int) (carry, weight float64) // coefficients of mixing round t of n, t from 0
	Cooldown(t int) (carry, weight float64)  // coefficients of cool-down round t, t from 0
}

// flow returns the flow f_ij of the i-th edge. It is empty without mixing and cool-down.
func (m *Machine) flow(i int) []float32 { return part(m.flows, i, len(m.x)) }

// mostFlow bounds the absolute value of a coordinate of a flow, in grid steps.
const mostFlow = 1 << 22

func (m *Machine) rate() (carry, weight float64) {
	if t := m.round - m.cfg.Learning(); t >= 0 {
		return m.cfg.Consensus.Cooldown(t)
	}
	return m.cfg.Consensus.Mixing((m.round-1)%(1+m.cfg.Mixing), m.cfg.Mixing)
}

// setFlow updates the flow of the i-th edge, whose neighbor has the model xj, and the grid point base in a round on the
// grid, where flows are whole steps.
func (m *Machine) setFlow(i int, xj []float32, base []int32) {
	carry, weight := m.rate()
	flow := m.flow(i)
	if !m.cfg.onGrid(m.round + 1) {
		for c, f := range flow {
			f = float32(float64(carry*float64(f)) + float64(weight*float64(xj[c]-m.x[c])))
			flow[c] = max(-limit, min(limit, f))
		}
		return
	}
	for c, f := range flow {
		apart := float64(int64(base[c]) - int64(m.grid[c]))
		steps := math.RoundToEven(float64(carry*float64(f)) + float64(weight*apart))
		flow[c] = float32(max(-mostFlow, min(mostFlow, steps)))
	}
}
