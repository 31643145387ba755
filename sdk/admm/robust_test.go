package admm

import (
	"math"
	"os"
	"slices"
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/zoest"
	"github.com/spade-dfl/spade-edge/zoest/rng"
	"github.com/spade-dfl/spade-edge/zoest/setting"
)

func everyEdge(n int) (edges [][2]int) {
	for i := range n {
		for j := range i {
			edges = append(edges, [2]int{j, i})
		}
	}
	return edges
}

// TestRobustLeavesTheBits checks that if no neighbor is clipped, a run has the same bits as without the bound, for
// every payload.
func TestRobustLeavesTheBits(t *testing.T) {
	for name, change := range map[string]func(i int, c *Config){
		"non-private":    func(int, *Config) {},
		"releases":       func(_ int, c *Config) { c.Releases = true },
		"private":        private(dpmech.Gaussian{Clip: 0.3, Sigma: 0.2}),
		"grid, releases": onAGrid(true),
	} {
		run := func(factor float64) *network {
			net := newNetwork(t, configs(4, kite, func(i int, c *Config) { change(i, c); c.Robust = factor }))
			if err := net.run(); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			return net
		}
		plain, bounded := run(0), run(setting.Robust.Max)
		for i, m := range bounded.machines {
			if !slices.Equal(m.Model(), plain.machines[i].Model()) {
				t.Errorf("%s: client %d has another model", name, i)
			}
			for e := range m.edges {
				if in := m.Influence(e); in.Clipped != 0 || in.Outside != 0 || len(m.edges) > 1 && !(in.Bound > in.Distance) {
					t.Errorf("%s: client %d says %+v of an honest neighbor", name, i, in)
				}
			}
		}
	}
}

// TestRobustBounds lets one of five members send arbitrary releases. In every round a member's model must be its
// initial model plus the member's own moves plus the moves that each neighbor caused. Each neighbor's contribution must
// lie in a ball around a point between the contributions of the honest neighbors.
func TestRobustBounds(t *testing.T) {
	const factor = 1.5
	for name, run := range map[string]struct {
		n        int
		releases bool
	}{"messages": {5, false}, "releases": {5, true}, "releases of four": {4, true}} {
		bad := run.n - 1
		net := newNetwork(t, configs(run.n, everyEdge(run.n), func(_ int, c *Config) { c.Robust, c.Releases = factor, run.releases }))
		chance, clipped := rng.New(1, rng.Address{Purpose: rng.Fault}), 0
		moves := make([][]float64, 5) // the total of a client's own moves
		for i := range moves {
			moves[i] = make([]float64, 5)
		}
		for !net.allFinished() {
			for i, m := range net.machines {
				before := m.round
				sent, err := net.drive(i)
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				for _, msg := range sent {
					if msg.From == bad && len(msg.Vector) > 0 {
						size := math.Ldexp(1, chance.IntN(75)) // the public bound is 1e24
						for c := range msg.Vector {
							msg.Vector[c] = float32(size * chance.Normal())
						}
					}
					net.sent = append(net.sent, msg)
				}
				if m.round == before || i == bad {
					continue
				}
				for c := range m.s { // without clipping and noise, s is the client's own move
					if m.cfg.Data(m.round) > m.cfg.Data(before) {
						moves[i][c] += float64(m.s[c])
					}
					x, least, most := moves[i][c], 0.0, 0.0
					for e := range m.edges {
						moved := float64(m.robust.moved[e*5+c])
						x += moved
						if m.edges[e].peer != bad {
							least, most = min(least, moved), max(most, moved)
						}
					}
					if off := math.Abs(x - float64(m.x[c])); off > 1e-4*(1+math.Abs(x)) {
						t.Fatalf("%s: client %d, round %d: x[%d] is %v, want %v", name, i, m.round, c, m.x[c], x)
					}
					if center := float64(m.robust.center[c]); center < least-1e-4 || center > most+1e-4 {
						t.Fatalf("%s: client %d, round %d: center %v, want %v..%v", name, i, m.round, center, least, most)
					}
				}
				for e := range m.edges {
					sum := 0.0
					for c, moved := range part(m.robust.moved, e, 5) {
						off := float64(moved - m.robust.center[c])
						sum += off * off
					}
					if in := m.Influence(e); math.Sqrt(sum) > in.Bound*(1+1e-5)+1e-6 {
						t.Fatalf("%s: client %d, round %d: %d is %v from the center, want at most %v", name, i, m.round, in.Peer,
							math.Sqrt(sum), in.Bound)
					} else if in.Peer == bad {
						clipped = in.Clipped
					}
				}
			}
			for _, msg := range net.sent {
				if err := net.machines[msg.To].Receive(msg); err != nil {
					t.Fatal(err)
				}
			}
			net.sent = net.sent[:0]
		}
		if clipped < 5 {
			t.Errorf("%s: clipped %d times, want nearly every round", name, clipped)
		}
	}
}

// TestRobustSetsAside checks that every neighbor excludes a member that stays far from all other members, and stores
// this decision. In the end the excluded member must have moved nobody from the center. Honest members must not be
// excluded, and the record of what was clipped must survive a crash.
func TestRobustSetsAside(t *testing.T) {
	const bad = 4
	net := newNetwork(t, configs(5, everyEdge(5), func(_ int, c *Config) { c.Robust, c.Releases = 2, true }))
	for !net.allFinished() {
		for i, m := range net.machines {
			sent, err := net.drive(i)
			if err != nil {
				t.Fatal(err)
			}
			for _, msg := range sent {
				for c := range msg.Vector {
					if i == bad {
						msg.Vector[c] = 3
					}
				}
				net.sent = append(net.sent, msg)
			}
			if m.round > 0 && len(sent) > 0 && i != bad {
				again, err := Restore(m.cfg, m.State(), nil)
				if err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(again.robust.cut, m.robust.cut) {
					t.Fatalf("client %d: %v was cut off, and %v after a crash", i, m.robust.cut, again.robust.cut)
				}
			}
		}
		for _, msg := range net.sent {
			if err := net.machines[msg.To].Receive(msg); err != nil {
				t.Fatal(err)
			}
		}
		net.sent = net.sent[:0]
	}
	for i, m := range net.machines[:bad] {
		for e := range m.edges {
			in := m.Influence(e)
			if aside := in.Peer == bad; in.Aside != aside {
				t.Errorf("client %d says %+v of %d", i, in, in.Peer)
			} else if aside && !slices.Equal(part(m.robust.moved, e, 5), m.robust.center) {
				t.Errorf("client %d was moved by %v, want the center, %v", i, part(m.robust.moved, e, 5), m.robust.center)
			}
		}
	}
}

// TestRobustStill checks that a member is detected if it sends one release with much less noise than required, and that
// an honest member is never detected, wherever it moves.
func TestRobustStill(t *testing.T) {
	chance := rng.New(1, rng.Address{Purpose: rng.Fault})
	for _, c := range []struct {
		dim, bits int
		share     float64 // of the required noise
		release   int
		want      bool
	}{
		{6, 4, 1, 2, false}, {6, 4, 0, 2, true}, {6, 4, 0.3, 2, false}, {100, 4, 1, 2, false}, {100, 4, 0.4, 2, true},
		{1000, 0, 1, 2, false}, {1000, 0, 0, 2, true}, {1, 8, 1, 2, false}, {1, 8, 0, 2, false}, {100, 4, 0, 6, false},
	} {
		const sigma = 0.2
		m := &Machine{round: c.release, cfg: Config{Rounds: 5, Cooldown: 2, GridStep: math.Ldexp(sigma, -c.bits),
			Privacy: dpmech.Gaussian{Clip: 1, Sigma: sigma}}}
		steps := make([]int32, c.dim)
		trials := 5000
		if os.Getenv("SPADE_LONG") == "" {
			trials /= 3
		}
		for range trials {
			for i := range steps {
				steps[i] = int32(math.RoundToEven(math.Ldexp(c.share*chance.Normal(), c.bits)))
			}
			if got := still(m.shown(steps)); got != c.want {
				t.Fatalf("%+v: %v with steps %v", c, got, steps)
			}
		}
		if m.cfg.NonPrivate = true; still(m.shown(steps)) {
			t.Errorf("%+v: still where there is no noise", c)
		}
	}
}

// TestRobustQuiet checks that a member whose releases together have too little noise is excluded permanently, even if
// it withholds noise only late in the run, or once sends a release far from the previous one. An honest member must
// never be excluded.
func TestRobustQuiet(t *testing.T) {
	const d, sigma, step, rounds = 6, 0.2, 0.2 / 16, 300
	chance := rng.New(2, rng.Address{Purpose: rng.Fault})
	for _, c := range []struct {
		share     float64 // of the required standard deviation
		honest    int     // earlier releases with full noise
		effective float64 // required standard deviation with pairwise noise, in units of sigma; 0: no pairwise noise
		jump      int     // the release with a far jump, or 0
		want      int     // the member must be detected by this release; 0: never detected
	}{
		{1, 0, 0, 0, 0}, {0.6, 0, 0, 0, 60}, {0.5, 0, 0, 0, 30}, {0.5, 200, 0, 0, 240}, {0.5, 0, 0, 10, 50}, {0.5, 0, 0, 40, 30},
		{2, 0, 2, 0, 0}, {1, 0, 2, 0, 30}, {1, 0, 1, 0, 0},
	} {
		for range 40 {
			cfg := Config{Rounds: rounds, GridStep: step, Members: 5, Neighbors: []int{1}, Estimator: zoest.Config{Dim: d},
				Eta: Schedule{1, 1}, Privacy: dpmech.Gaussian{Clip: 1, Sigma: sigma, Shared: dpmech.Shared{Effective: c.effective * sigma}}}
			m := &Machine{cfg: cfg, robust: newRobust(cfg), edges: make([]edge, 1), x: make([]float32, d)}
			steps := make([]int32, d)
			for m.round = 1; m.round <= rounds; m.round++ {
				share := c.share
				if m.round <= c.honest {
					share = 1
				}
				for i := range steps {
					steps[i] = int32(math.RoundToEven(16 * share * chance.Normal()))
				}
				if m.round == c.jump {
					steps[0] = 1 << 28
				}
				m.look(0, steps)
			}
			in := m.robust.seen[0]
			if found := in.Still > 0; found != (c.want > 0) || in.Still > c.want || found != (m.robust.cut[0] == limit) {
				t.Fatalf("%+v: found at release %d, cut %v", c, in.Still, m.robust.cut[0])
			}
		}
	}
}

// TestRobustSetsStillAside checks that a member without noise is excluded permanently, even after a crash, and in the
// end has moved nobody. An honest member must not be excluded.
func TestRobustSetsStillAside(t *testing.T) {
	const bad, at = 4, 2
	net := newNetwork(t, configs(5, everyEdge(5), func(i int, c *Config) {
		onAGrid(true)(i, c)
		c.Robust, c.GridStep = 2, 0.2/256
	}))
	for !net.allFinished() {
		for i := range net.machines {
			sent, err := net.drive(i)
			if err != nil {
				t.Fatal(err)
			}
			for _, msg := range sent {
				if msg.From == bad && msg.Round >= at {
					clear(msg.Grid)
				}
				net.sent = append(net.sent, msg)
			}
		}
		for _, msg := range net.sent {
			if err := net.machines[msg.To].Receive(msg); err != nil {
				t.Fatal(err)
			}
		}
		net.sent = net.sent[:0]
	}
	for i, m := range net.machines[:bad] {
		for e := range m.edges {
			in := m.Influence(e)
			if in.Peer != bad && in.Still != 0 || in.Peer == bad && (in.Still != at || !in.Aside) {
				t.Errorf("client %d says %+v of %d", i, in, in.Peer)
			}
			if moved := part(m.robust.moved, e, 5); in.Peer == bad && !slices.Equal(moved, make([]float32, 5)) {
				t.Errorf("client %d was moved by %v, want nothing", i, moved)
			}
		}
		again, err := Restore(m.cfg, m.State(), nil)
		if err != nil || !slices.Equal(again.robust.cut, m.robust.cut) || again.robust.cut[bad-1] != limit {
			t.Errorf("client %d: %v after a crash, error %v", i, again.robust.cut, err)
		}
		if !slices.Equal(again.robust.quiet, m.robust.quiet) || !(m.robust.quiet[bad-1] > 0) {
			t.Errorf("client %d: evidence %v, after a crash %v", i, m.robust.quiet, again.robust.quiet)
		}
	}
}

// TestRobustJump lets a release jump out of the public bound, but not farther than the bound is wide. No member may end
// or move far, and the report of the jump must name the member, the release and the distance.
func TestRobustJump(t *testing.T) {
	const bad, at = 2, 3
	net := newNetwork(t, configs(5, everyEdge(5), func(i int, c *Config) {
		onAGrid(true)(i, c)
		c.Robust, c.Members = 2, 5
	}))
	for !net.allFinished() {
		for i, m := range net.machines {
			sent, err := net.drive(i)
			if err != nil {
				t.Fatal(err)
			}
			for _, msg := range sent {
				if msg.From == bad && msg.Round == at && len(msg.Grid) > 0 {
					_, high := m.cfg.boundOf(at).steps(0)
					msg.Grid[1] += high + high/2
				}
				net.sent = append(net.sent, msg)
			}
		}
		for _, msg := range net.sent {
			if err := net.machines[msg.To].Receive(msg); err != nil {
				t.Fatal(err)
			}
		}
		net.sent = net.sent[:0]
	}
	for i, m := range net.machines {
		for e := range m.edges {
			in := m.Influence(e)
			if i != bad && in.Peer == bad {
				if in.Outside != at || in.Clipped == 0 {
					t.Errorf("client %d says %+v of the one who jumped", i, in)
				}
			} else if i != bad && in.Outside != 0 {
				t.Errorf("client %d says %+v of an honest one", i, in)
			}
		}
		for _, x := range m.x {
			if i != bad && !(math.Abs(float64(x)) < 20) {
				t.Errorf("client %d ends at %v", i, m.x)
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
