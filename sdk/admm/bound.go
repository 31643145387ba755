package admm

import (
	"fmt"
	"math"
)

// The public bound is a box around the initial model, X0. It depends only on public numbers. A member clips its own
// releases to the box, and clips each release of a neighbor before using it. So no honest member sends a release
// outside the box, and a far-off release of a neighbor does not end the run. See dpmech/PROOF.md, "No honest member is
// accused".

// box is the public bound of one release. It allows a coordinate x of the release if |x - x0| <= box.most, where x0 is
// the same coordinate of X0, and |x| <= limit. On a grid, the absolute value of the grid index of x must also be at
// most box.last.
type box struct {
	start      []float32 // X0; nil means zeros
	most, ulps float64   // the largest distance from the start, and the rounding error of float32 as a fraction of the start
	step       float64   // Config.GridStep; 0 without a grid
	reach      float64   // the field most, rounded down to whole grid steps
	last       float64   // index of the outermost grid point
}

// farthest is the largest distance from X0 that a run without noise allows a coordinate. No useful model is that far
// away.
const farthest = 1e24

// boundOf returns the box of the release with the given number.
//
// Release k is X0 plus the network's responses to everything that members added: k updates of norm at most R = reach,
// and k noise vectors of standard deviation s, with s^2 = sigma^2 + (N-1)*sigma_pair^2. A member's update moves the
// mean of all models by no more than the update itself. In each mode of the graph, the update changes the disagreement
// of all N members by at most twice its own size (TestAnswerToAPush). Together, the updates account for at most
// k*R*(1+2*sqrt(N)). The noise in a coordinate is Gaussian, with a standard deviation below 4.3*s*sqrt(k), and
// 14*s*sqrt(k)*(1+2*sqrt(N)) is more than 12 of these standard deviations. Rounding adds one grid step per release or,
// where releases are sums of flows, half a step per flow.
//
// So in a run of honest members a release is clipped with probability below 1e-20. The proof that no honest member is
// accused does not need this estimate. In a private run with Members = 0, or with an Eta or Mu that changes from round
// to round, the distance is unbounded, and the box limits only the absolute values of coordinates.
func (c *Config) boundOf(release int) box {
	b := box{start: c.X0, most: math.Inf(1), step: c.GridStep, reach: math.Inf(1)}
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
	k, root, s := float64(c.Data(release)), 1+float64(2*math.Sqrt(float64(c.Members))), c.deviation()
	rounding := float64(float64(release) * c.GridStep * float64(max(2, c.Members)) / 2)
	b.most = float64(root * (float64(k*c.reach()) + float64(14*float64(s*math.Sqrt(k))) + rounding))
	b.ulps = float64(root*float64(release)) * 0x1p-22
	if b.step != 0 {
		b.reach = math.Floor(b.most / b.step)
	}
	return b
}

// deviation returns an upper bound on the standard deviation of a release's noise in one coordinate.
func (c *Config) deviation() float64 {
	own, pair := c.Privacy.Alone().Sigma, c.Privacy.Shared.Sigma
	return math.Sqrt(float64(own*own) + float64(float64(max(0, c.Members-1))*float64(pair*pair)))
}

// plainly is a fast, conservative test. If it returns true, x is in the box. If it returns false, x may or may not be
// in the box.
func (b box) plainly(x []float32) bool { return b.most >= farthest && small(x) && small(b.start) }

// ends returns the smallest and the largest value that the box allows for a coordinate whose value in X0 is x0.
func (b box) ends(x0 float32) (low, high float32) {
	x, most := float64(x0), b.most+b.step+float64(b.ulps*math.Abs(float64(x0)))
	return max(-limit, float32(x-most)), min(limit, float32(x+most))
}

// steps returns the indexes of the lowest and the highest grid point that the box allows for a coordinate whose value
// in X0 is x0. Both points are within the limits that ends returns.
func (b box) steps(x0 float32) (low, high int32) {
	at := 0.0
	if x0 != 0 {
		at = max(-b.last, min(b.last, math.RoundToEven(float64(x0)/b.step)))
	}
	return int32(max(-b.last, at-b.reach)), int32(min(b.last, at+b.reach))
}

func (b box) startAt(i int) float32 {
	if b.start == nil {
		return 0
	}
	return b.start[i]
}

func (c *Config) lastStep() float64 { return min(gridLimit-1, math.Floor(limit/c.GridStep)) }

// Impossible returns an error if no honest member can have sent the payload p in its [Release] message of
// the round, whatever messages it had received. That is the case if p has the wrong form or length, a coordinate of p
// is outside the public bound, or a change on the grid exceeds the width of the bound. The result depends only on
// public numbers and p, so anyone can check it.
func (c *Config) Impossible(round int, p Payload) error {
	if err := c.checkForm(round, p); err != nil {
		return err
	}
	return c.boundOf(round).outside(round, p)
}

// checkForm returns an error if p does not have the numbers of a release of the round, or if one of them is NaN or above
// the limit.
func (c *Config) checkForm(round int, p Payload) error {
	vector, grid := c.Estimator.Dim, 0
	if c.onGrid(round) {
		vector, grid = grid, vector
	}
	if len(p.Vector) != vector || len(p.Grid) != grid {
		return fmt.Errorf("admm: release %d has %d numbers and %d grid steps, want %d and %d", round, len(p.Vector), len(p.Grid),
			vector, grid)
	}
	if i := beyond(p.Vector, limit); i >= 0 {
		return fmt.Errorf("admm: coordinate %d of release %d is %v, want at most %v in absolute value", i, round, p.Vector[i], limit)
	}
	return nil
}

// outside returns an error if p, a release of the round in the right form, is outside the round's box.
func (b box) outside(round int, p Payload) error {
	if len(p.Vector) > 0 && b.plainly(p.Vector) {
		return nil
	}
	for i, x := range p.Vector {
		if low, high := b.ends(b.startAt(i)); !(x >= low && x <= high) {
			return fmt.Errorf("admm: coordinate %d of release %d is %v, want %v to %v", i, round, x, low, high)
		}
	}
	for i, change := range p.Grid {
		low, high := b.steps(b.startAt(i))
		if wide := int64(high) - int64(low); max(int64(change), -int64(change)) > wide {
			return fmt.Errorf("admm: coordinate %d of release %d moves by %d steps of the grid, want at most %d",
				i, round, change, wide)
		}
	}
	return nil
}

// onGrid returns the index of the grid point in the box that is nearest to grid point n, for coordinate i.
func (b box) onGrid(i int, n float64) float64 {
	low, high := b.steps(b.startAt(i))
	return max(float64(low), min(float64(high), n))
}

// keepIn clips x to the box, in place, and reports whether x was outside. A NaN counts as outside: keepIn replaces it
// with the same coordinate of a fallback vector (otherwise), clipped to the box.
func (b box) keepIn(x, otherwise []float32) (outside bool) {
	if b.plainly(x) {
		return false
	}
	for i, v := range x {
		low, high := b.ends(b.startAt(i))
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

// outgrow does nothing if outside is false. Otherwise it records that this client clipped the release in progress to
// the box. It records only the first clipped release.
func (m *Machine) outgrow(outside bool) {
	if outside && m.outgrown == 0 {
		m.outgrown = m.round + 1
	}
}
