package admm

import (
	"math"
	"slices"
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/zoest"
)

// TestDrivenToTheEdge checks that a neighbor cannot make an honest member look malicious: the neighbor drives the member
// to the edge of the public bound and keeps it there, and none of the member's releases may be impossible.
func TestDrivenToTheEdge(t *testing.T) {
	for _, members := range []int{0, 2} { // if the number of members is unknown (0), the bound is the end of the grid
		const step = 0.2 / 256
		cfgs := configs(2, everyEdge(2), func(i int, c *Config) {
			onAGrid(i, c)
			c.Rounds, c.Cooldown, c.Members, c.GridStep, c.Beta = 60, 0, members, step, 2
		})
		net := newNetwork(t, cfgs)
		watch := cfgs[0]
		out := 0
		for !net.machines[1].Status().Complete {
			for i := range net.machines {
				sent, err := net.drive(i)
				must(t, err)
				for _, msg := range sent {
					if msg.Kind != Release {
						continue
					}
					must(t, watch.Impossible(msg.Round, msg.Payload()))
					if i == 0 { // the malicious member stays at the edge
						for c, at := range net.machines[1].base {
							_, high := watch.boundOf(msg.Round).steps(0)
							msg.Grid[c] = high - at
						}
					} else {
						out = net.machines[1].Outgrown()
					}
					must(t, net.machines[msg.To].Receive(msg))
				}
			}
		}
		if out == 0 || out > 40 {
			t.Errorf("%d members: at the edge from release %d on: nothing was tested", members, out)
		}
	}
}

// TestBoxes checks that the member that clips a coordinate and the member that checks it compute the same limits. Every
// grid point that box.steps allows must be within the limits of box.ends, and the box of a release must contain the
// boxes of all earlier releases.
func TestBoxes(t *testing.T) {
	for _, x0 := range []float32{0, 1, -3.7, 1e-20, 1e6, -5e6} {
		c := Config{Estimator: zoest.Config{Dim: 1}, X0: []float32{x0}, Rounds: 100, Cooldown: 5, Members: 5, GridStep: 0.1 / 16,
			Eta: Schedule{1}, Mu: Schedule{1}, Privacy: dpmech.Gaussian{Clip: 0.3, Sigma: 0.1}}
		before := box{}
		for k := 1; k <= c.Last(); k++ {
			b := c.boundOf(k)
			low, high := b.ends(x0)
			first, last := b.steps(x0)
			if first > last || float32(float64(first)*b.step) < low || float32(float64(last)*b.step) > high {
				t.Errorf("x0 %v, release %d: steps %d to %d are not within %v to %v", x0, k, first, last, low, high)
			}
			if b.most < before.most || math.IsInf(b.most, 0) {
				t.Errorf("release %d: bound %v, and %v before", k, b.most, before.most)
			}
			before = b
			x := []float32{float32(math.Inf(1))}
			b.keepIn(x, x)
			over := slices.Clone(x)
			over[0] = math.Nextafter32(over[0], math.MaxFloat32)
			if b.outside(k, Payload{Vector: x}) != nil || b.outside(k, Payload{Vector: over}) == nil {
				t.Errorf("x0 %v, release %d: %v is kept, and the next number is taken as well, or neither", x0, k, x)
			}
			wide := int64(last) - int64(first)
			if b.outside(k, Payload{Grid: []int32{int32(wide)}}) != nil ||
				wide < math.MaxInt32 && b.outside(k, Payload{Grid: []int32{int32(wide + 1)}}) == nil {
				t.Errorf("x0 %v, release %d: a change of %d steps or of one more", x0, k, wide)
			}
		}
	}
}

// TestAnswerToAPush checks, for each mode of the graph, a bound on which boundOf relies: the recursion x(k+1) = q*(x(k)
// - g*(x(k) + X(k-1)/2)), with X the sum of all x so far, responds to one push of size 1 with at most 2. This holds for
// every gain g at which the network is stable, and for every factor q by which a block of mixing multiplies a mode.
func TestAnswerToAPush(t *testing.T) {
	worst := 0.0
	for _, q := range []float64{1, 0.9, 0.5, 0.1, 0} {
		for step := 1; step < 2666; step += 1 + 4*int(math.Ceil(1-q)) {
			g := float64(step) / 1000
			for x, sum, k := 1.0, 0.0, 0; k < 2000; k++ {
				worst = max(worst, math.Abs(x))
				x, sum = q*(x-g*(x+sum/2)), sum+x
			}
		}
	}
	if !(worst > 1.4 && worst < 2) {
		t.Errorf("at most %v, want less than 2", worst)
	}
}

// TestBeyondTheBound checks that a member that jumps out of the public bound, but not farther than the bound is wide, is
// treated as if it were at the bound, and that nobody drops it or ends.
func TestBeyondTheBound(t *testing.T) {
	const bad, at = 2, 3
	net := newNetwork(t, configs(5, everyEdge(5), func(i int, c *Config) {
		onAGrid(i, c)
		c.Members = 5
	}))
	for reached := false; !net.allFinished(); {
		for i, m := range net.machines {
			sent, err := net.drive(i)
			must(t, err)
			for _, msg := range sent {
				_, high := m.cfg.boundOf(at).steps(m.cfg.boundOf(1).startAt(1))
				if msg.From == bad && msg.Round == at && len(msg.Grid) > 0 {
					msg.Grid[1] += high + high/2
				}
				net.sent = append(net.sent, msg)
			}
			if e := m.edge(bad); e != nil && m.round > 0 {
				_, high := m.cfg.boundOf(m.round).steps(m.cfg.boundOf(1).startAt(1))
				_, edge := m.cfg.boundOf(at).steps(m.cfg.boundOf(1).startAt(1))
				position := part(m.base, e.index, len(m.x))[1]
				if position > high || m.Quarantined(bad) > 0 {
					t.Fatalf("client %d, release %d: the malicious member is at step %d, want at most %d", i, m.round, position, high)
				}
				reached = reached || m.round == at+1 && position == edge
			}
		}
		for _, msg := range net.sent {
			must(t, net.machines[msg.To].Receive(msg))
		}
		if net.sent = net.sent[:0]; net.allFinished() && !reached {
			t.Error("the malicious member never reached the bound: nothing was tested")
		}
	}
}
