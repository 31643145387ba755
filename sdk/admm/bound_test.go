package admm

import (
	"math"
	"slices"
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/zoest"
)

// TestRoomForNoise covers the releases of a member that a neighbor has driven to the edge of the public bound. None of
// these releases may be impossible, and each must show the full noise, so that the checks for missing noise do not
// exclude the member.
func TestRoomForNoise(t *testing.T) {
	for _, members := range []int{0, 2} { // if the number of members is unknown (0), the bound is the end of the grid
		roomForNoise(t, members)
	}
}

func roomForNoise(t *testing.T, members int) {
	const d, sigma, step = 5, 0.2, 0.2 / 256
	cfgs := configs(2, everyEdge(2), func(i int, c *Config) {
		onAGrid(true)(i, c)
		c.Rounds, c.Cooldown, c.Members, c.GridStep, c.Beta = 60, 0, members, step, 2
	})
	net := newNetwork(t, cfgs)
	watch := cfgs[0]
	watch.Robust, watch.Privacy = 2, dpmech.Gaussian{Clip: 1, Sigma: sigma}
	m := &Machine{cfg: watch, robust: newRobust(watch), edges: make([]edge, 1), x: make([]float32, d)}
	out := 0
	for !net.machines[1].Status().Complete {
		for i := range net.machines {
			sent, err := net.drive(i)
			if err != nil {
				t.Fatal(err)
			}
			for _, msg := range sent {
				if msg.Kind != Release {
					continue
				}
				if err := watch.Impossible(msg.Round, msg.Payload()); err != nil {
					t.Fatal(err)
				}
				if i == 0 { // the malicious member stays at the edge
					for c, at := range net.machines[1].base {
						_, high := watch.boundOf(msg.Round).steps(0)
						msg.Grid[c] = high - at
					}
				} else {
					if m.round = msg.Round; m.round > 1 {
						m.look(0, msg.Grid)
					}
					out = net.machines[1].Outgrown()
				}
				if err := net.machines[msg.To].Receive(msg); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if in := m.robust.seen[0]; in.Still != 0 {
		t.Errorf("%d members: excluded at release %d for lack of noise", members, in.Still)
	}
	if out == 0 || out > 40 {
		t.Errorf("%d members: at the edge from release %d on: nothing was tested", members, out)
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
			c.keepIn(b, x, x)
			over := slices.Clone(x)
			over[0] = math.Nextafter32(over[0], math.MaxFloat32)
			if c.Impossible(k, Payload{Vector: x}) != nil || c.Impossible(k, Payload{Vector: over}) == nil {
				t.Errorf("x0 %v, release %d: %v is kept, and the next number is taken as well, or neither", x0, k, x)
			}
			wide := int64(last) - int64(first)
			if c.Impossible(k, Payload{Grid: []int32{int32(wide)}}) != nil && k <= c.Learning() ||
				wide < math.MaxInt32 && c.Impossible(k, Payload{Grid: []int32{int32(wide + 1)}}) == nil {
				t.Errorf("x0 %v, release %d: a change of %d steps or of one more", x0, k, wide)
			}
		}
	}
}
