package admm

import "math"

// The public bound: every release lies in a box around the start that follows from public numbers alone. A member cuts its
// own releases back to it, whatever led there, and treats a neighbor's as if that had done the same. So what is far away
// ends nobody, and no honest release is outside. See sdk/PROOF.md.

// box is where a release may lie: in each coordinate, no farther from the start than most, and in range.
type box struct {
	most, ulps float64 // the distance, and what float32 may have rounded off, as a share of the start
	step       float64 // of the grid, or 0
	reach      float64 // the distance in whole steps
	last       float64 // the number of the outermost point of the grid
}

// farthest is the bound of a run without noise: no model that is worth anything is farther from its start.
const farthest = 1e24

// boundOf returns the box of a release. It does not depend on whether the run ends early.
//
// Release k is the start, plus the answers of the network to what members have added: of updates at most R = reach in each
// of k rounds, and of noise with the deviation s, s^2 = sigma^2 + (N-1)*sigma_pair^2. The mean of all takes an update as it
// is; the disagreement of all N answers one, in each mode of the graph, with at most twice its size (TestAnswerToAPush):
// together at most 1+2*sqrt(N) times k*R. The noise in a coordinate is Gaussian, with a deviation below 4.3*s*sqrt(k),
// and 14*s*sqrt(k)*(1+2*sqrt(N)) is more than 12 deviations. Rounding adds a grid step a release, or half of one a flow.
// So no release of a run whose members are all honest is cut back, but with a probability below 1e-20; the proof that no
// honest member is accused needs none of this. Of a private run without Members, or with schedules, only the range is known.
func (c Config) boundOf(release int) box {
	b := box{most: math.Inf(1), step: c.GridStep, reach: math.Inf(1)}
	if c.GridStep != 0 {
		b.last = c.lastStep()
	}
	switch {
	case c.NonPrivate:
		b.most = farthest
		return b
	case c.Members == 0 || len(c.Eta) > 1 || len(c.Mu) > 1:
		return b
	}
	c.End = 0
	k, root, s := float64(c.Data(release)), 1+float64(2*math.Sqrt(float64(c.Members))), c.deviation()
	rounding := float64(float64(release) * c.GridStep)
	if c.Consensus != nil {
		rounding = float64(rounding * float64(max(2, c.Members)) / 2)
	}
	b.most = c.addition() + float64(root*(float64(k*c.reach())+float64(14*float64(s*math.Sqrt(k)))+rounding))
	b.ulps = float64(root*float64(release)) * 0x1p-22
	if b.step != 0 {
		b.reach = math.Floor(b.most / b.step)
	}
	return b
}

// deviation returns that of the noise of a release in each coordinate, at most.
func (c *Config) deviation() float64 {
	own, pair := c.Privacy.Alone().Sigma, c.Privacy.Shared.Sigma
	return math.Sqrt(float64(own*own) + float64(float64(max(0, c.Members-1))*float64(pair*pair)))
}

// addition returns the most that a release with data adds in a coordinate, but for a probability below 1e-40.
func (c *Config) addition() float64 { return c.reach() + float64(14*c.deviation()) }

// plainly reports, in little time, that a vector is in the box.
func (c *Config) plainly(b box, x []float32) bool {
	return b.most >= farthest && small(x) && small(c.X0)
}

// ends returns the least and the greatest number of a coordinate that starts at x0.
func (b box) ends(x0 float32) (low, high float32) {
	x, most := float64(x0), b.most+b.step+float64(b.ulps*math.Abs(float64(x0)))
	return max(-limit, float32(x-most)), min(limit, float32(x+most))
}

// steps returns the least and the greatest step of the grid of a coordinate that starts at x0. Each of these points is
// within ends.
func (b box) steps(x0 float32) (low, high int32) {
	at := 0.0
	if x0 != 0 {
		at = max(-b.last, min(b.last, math.RoundToEven(float64(x0)/b.step)))
	}
	return int32(max(-b.last, at-b.reach)), int32(min(b.last, at+b.reach))
}

// startAt returns one coordinate of x_0.
func (c *Config) startAt(i int) float32 {
	if c.X0 == nil {
		return 0
	}
	return c.X0[i]
}

// lastStep returns the number of the outermost point of the grid.
func (c *Config) lastStep() float64 { return min(gridLimit-1, math.Floor(limit/c.GridStep)) }

// Impossible returns an [ImpossibleError] if no honest member sends a payload in a [Release] message of a round, whatever
// it has received: the numbers are not those of a release, they are outside of the public bound, or a change on the grid is
// longer than the bound is wide. It is a function of public numbers and of the message alone, so anybody can check it.
func (c *Config) Impossible(round int, p Payload) error {
	plan, vector, grid := *c, c.Estimator.Dim, 0
	if plan.End = 0; len(p.Grid) > 0 && c.GridStep != 0 && round <= plan.Learning() {
		vector, grid = grid, vector
	}
	if len(p.Vector) != vector || len(p.Grid) != grid {
		return impossible("admm: release %d has %d numbers and %d grid steps, want %d and %d", round, len(p.Vector), len(p.Grid),
			vector, grid)
	}
	b := c.boundOf(round)
	if len(p.Vector) > 0 && c.plainly(b, p.Vector) {
		return nil
	}
	for i, x := range p.Vector {
		if low, high := b.ends(c.startAt(i)); !(x >= low && x <= high) {
			return impossible("admm: coordinate %d of release %d is %v, want %v to %v", i, round, x, low, high)
		}
	}
	for i, change := range p.Grid {
		low, high := b.steps(c.startAt(i))
		if wide := int64(high) - int64(low); max(int64(change), -int64(change)) > wide {
			return impossible("admm: coordinate %d of release %d moves by %d steps of the grid, want at most %d",
				i, round, change, wide)
		}
	}
	return nil
}

// less returns a box that is smaller on each side.
func (b box) less(margin float64) box {
	b.most -= margin
	if b.step != 0 {
		b.reach = math.Floor(b.most / b.step)
		b.last -= math.Ceil(margin / b.step)
	}
	return b
}

// onGrid returns the step of the box that is nearest to a step n of a coordinate that starts at x0.
func (b box) onGrid(x0 float32, n float64) float64 {
	low, high := b.steps(x0)
	return max(float64(low), min(float64(high), n))
}

// keepIn moves x, a vector, into the box, and reports whether it was outside. What is no number is replaced by the
// coordinate of otherwise.
func (c *Config) keepIn(b box, x, otherwise []float32) (outside bool) {
	if c.plainly(b, x) {
		return false
	}
	for i, v := range x {
		low, high := b.ends(c.startAt(i))
		switch {
		case v >= low && v <= high:
			continue
		case v != v:
			v = otherwise[i]
		}
		x[i], outside = max(low, min(high, v)), true
	}
	return outside
}

// outgrow notes that this client has cut a release of its own back.
func (m *Machine) outgrow(outside bool) {
	if outside && m.outgrown == 0 {
		m.outgrown = m.round + 1
	}
}
