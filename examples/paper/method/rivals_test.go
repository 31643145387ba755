package method

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk/topology"
	"github.com/spade-dfl/spade-edge/zoest"
)

func everyMethod() []Method {
	return append(Rivals(), LTADMMDP{PerSample: true}, DPSGD{OneClient: true}, DPFedAvg{Central: true})
}

// worldOf returns a world whose graph is a ring. Client i has sizes[i] samples, and the function loss returns the loss
// of one sample at x.
func worldOf(t testing.TB, d int, sizes []int, loss func(client, sample int, x []float32) float64) *World {
	g, err := topology.Parse("ring", len(sizes), 0)
	if err != nil {
		t.Fatal(err)
	}
	w := &World{Graph: g, Dim: d, Rounds: 3, Seed: 4}
	for i, m := range sizes {
		w.Clients = append(w.Clients,
			Client{Samples: m, Oracle: zoest.OracleFunc(func(_ context.Context, x []float32, h int) (float64, error) {
				return loss(i, h, x), nil
			})})
	}
	return w
}

// with returns a setting for all parameters of a method. Parameters that are not in values get the middle of their
// range.
func with(m Method, w *World, values Setting) Setting {
	s := Setting{}
	for _, p := range m.Space(w) {
		v, ok := values[p.Name]
		switch {
		case ok:
		case p.Log:
			v = math.Sqrt(p.Low * p.High)
		default:
			v = (p.Low + p.High) / 2
		}
		if p.Whole {
			v = math.Floor(v)
		}
		s[p.Name] = v
	}
	return s
}

func run(t testing.TB, m Method, w *World, s Setting) ([][]float32, Spent) {
	t.Helper()
	var last [][]float32
	spent, err := m.Run(context.Background(), w, s, func(_ int, models [][]float32) error {
		last = last[:0]
		for _, x := range models {
			last = append(last, slices.Clone(x))
		}
		return nil
	})
	if err != nil {
		t.Fatalf("%s: %v", m.Name(), err)
	}
	return last, spent
}

// TestQuadratic checks the optima that the methods find in one dimension. There, a Rademacher direction is +1 or -1, so
// a two-point estimate of a quadratic loss is the exact gradient, and methods that are exact with true gradients must
// find the exact optimum. The decentralized methods and DP-FedAvg find the mean of the clients' means, in consensus,
// and DP-SGD finds the mean of all samples.
func TestQuadratic(t *testing.T) {
	sizes := []int{4, 8, 4, 12}
	center := func(i, h int) float64 { return float64(i*i) + float64(h%4) - 1.5 }
	clients, samples, total := 0.0, 0.0, 0.0
	for i, m := range sizes {
		for h := range m {
			clients += center(i, h) / float64(m) / float64(len(sizes))
			samples += center(i, h)
			total++
		}
	}
	samples /= total
	if math.Abs(clients-samples) < 0.5 {
		t.Fatalf("the two optima %v and %v are too close to tell apart", clients, samples)
	}
	quadratic := func(i, h int, x []float32) float64 { return math.Pow(float64(x[0])-center(i, h), 2) / 2 }
	for _, c := range []struct {
		m       Method
		queries float64
		s       Setting
		want    float64
	}{
		{LTADMMDP{}, 6, Setting{"tau": 3, "gamma": 0.2, "gain": 0.5, "mu": 0.5}, clients},
		{LTADMMVR{}, 8, Setting{"tau": 3, "gamma": 0.2, "gain": 0.5, "mu": 0.5, "reset": 1}, clients},
		{DPFedAvg{}, 6, Setting{"tau": 3, "eta": 0.2, "mu": 0.5}, clients},
		{DPSGD{}, 6, Setting{"tau": 3, "dirs": 1, "eta": 0.2, "mu": 0.5}, samples},
		// With small batches, the memory of LT-ADMM-VR removes the sampling noise at the optimum.
		{LTADMMVR{}, 3, Setting{"tau": 2, "gamma": 0.1, "gain": 0.5, "mu": 0.5}, clients},
		{LTADMMVR{}, 3, Setting{"tau": 2, "gamma": 0.1, "gain": 0.5, "mu": 0.5, "paired": 1}, clients},
		{LTADMMVR{}, 3, Setting{"tau": 2, "gamma": 0.1, "gain": 0.5, "mu": 0.5, "paired": 1, "reset": 1}, clients},
		// LT-ADMM-DP has no memory, so the sampling noise remains.
		{LTADMMDP{}, 3, Setting{"tau": 3, "gamma": 0.1, "gain": 0.5, "mu": 0.5}, math.NaN()},
	} {
		w := worldOf(t, 1, sizes, quadratic)
		w.Rounds, w.Queries = 400, c.queries
		x, _ := run(t, c.m, w, with(c.m, w, c.s))
		worst := 0.0
		for i := range x {
			if math.IsNaN(c.want) {
				worst = max(worst, math.Abs(float64(x[i][0])-clients))
				continue
			}
			if d := math.Abs(float64(x[i][0]) - c.want); !(d < 1e-4) {
				t.Errorf("%s %v: client %d ends at %v, want %v", c.m.Name(), c.s, i, x[i][0], c.want)
			}
		}
		if math.IsNaN(c.want) && worst < 0.01 {
			t.Errorf("%s %v: small batches without a memory end within %v of the optimum, too good to be true", c.m.Name(), c.s,
				worst)
		}
	}
}

// TestOnePointDescends checks methods with one-point estimates, whose variance is of the order of the squared loss,
// whatever the gradient. If losses are bounded and step sizes decay at the published rates, the methods must
// nevertheless come close to the optimum.
func TestOnePointDescends(t *testing.T) {
	center := func(i int) float64 { return float64(i) / 2 }
	w := worldOf(t, 2, []int{50, 50, 50, 50}, func(i, _ int, x []float32) float64 {
		q := 0.0
		for _, v := range x {
			q += math.Pow(float64(v)-center(i), 2) / 2
		}
		return q / (1 + q)
	})
	w.X0, w.Rounds, w.Queries = []float32{2.5, -1}, 300, 9
	for _, m := range []Method{OnePointDSG{}, OnePointDSGT{}} {
		x, _ := run(t, m, w, Setting{"alpha": 10, "alpha_decay": 0.75, "gamma": 0.8, "gamma_decay": 0.25})
		for i := range x {
			for c, v := range x[i] {
				if !(math.Abs(float64(v)-0.75) < 0.3) { // by symmetry the optimum is the mean of the centers
					t.Errorf("%s: client %d, coordinate %d ends at %v, want about 0.75", m.Name(), i, c, v)
				}
			}
		}
	}
}

// TestFlat checks that methods with two-point estimates do not move if the losses do not depend on the model. One-point
// estimates depend on the level of the loss, so methods that use them get a loss of 0 in this test.
func TestFlat(t *testing.T) {
	for _, m := range everyMethod() {
		level := 0.7
		if strings.HasPrefix(m.Name(), "1P") {
			level = 0
		}
		w := worldOf(t, 5, []int{3, 4, 5}, func(int, int, []float32) float64 { return level })
		w.X0, w.Queries = []float32{1, -2, 3, 0, 0.5}, 4
		x, _ := run(t, m, w, with(m, w, Setting{"tau": 2}))
		for i := range x {
			for c := range x[i] {
				if math.Abs(float64(x[i][c]-w.X0[c])) > 1e-6 { // the weights of a row sum to 1, except for rounding
					t.Errorf("%s: model %d has moved to %v", m.Name(), i, x[i])
					break
				}
			}
		}
	}
}

// TestTranscript checks, against stored transcripts, that equal worlds and settings give the same bits on every
// processor.
func TestTranscript(t *testing.T) {
	want := map[string]string{
		"LT-ADMM-VR false":                   "b75952445c7ec98e",
		"LT-ADMM-DP false":                   "db7752135e5f7723",
		"DP-SGD false":                       "27c66a7bebf92f33",
		"DP-FedAvg false":                    "4e55d2d602e9b52c",
		"1P-DSG false":                       "152c15142e40a797",
		"1P-DSGT false":                      "f004fba1cb8d8c28",
		"LT-ADMM-DP (clip per sample) false": "db7752135e5f7723",
		"DP-SGD (one client) false":          "27c66a7bebf92f33",
		"DP-FedAvg (central) false":          "4e55d2d602e9b52c",
		"LT-ADMM-VR true":                    "28d9d4719f056dd8",
		"LT-ADMM-DP true":                    "5fd1371fcbf73dff",
		"DP-SGD true":                        "4f9bfb0544685a50",
		"DP-FedAvg true":                     "9837c95c20fe7b26",
		"1P-DSG true":                        "4c08300150fd5242",
		"1P-DSGT true":                       "6c7075e7d381d7bb",
		"LT-ADMM-DP (clip per sample) true":  "613770a39ba5d5a5",
		"DP-SGD (one client) true":           "22bd69f44a15f3c9",
		"DP-FedAvg (central) true":           "8a4e48a0dde58808",
	}
	for _, private := range []bool{false, true} {
		for _, m := range everyMethod() {
			w, _ := learning(t, 5, 12, 4, 3)
			w.Rounds = 6
			if private {
				w.Privacy = &Privacy{Epsilon: 8, Delta: 1e-5}
			}
			transcript := func() string {
				h := sha256.New()
				s := with(m, w, Setting{"tau": 2, "mu": 0.1, "reset": 0, "paired": 1, "gamma": 1, "alpha": 5, "alpha_decay": 0.3})
				_, err := m.Run(context.Background(), w, s, func(_ int, models [][]float32) error {
					return binary.Write(h, binary.LittleEndian, slices.Concat(models...))
				})
				if err != nil {
					t.Fatal(err)
				}
				return hex.EncodeToString(h.Sum(nil))[:16]
			}
			name := fmt.Sprintf("%s %v", m.Name(), private)
			first := transcript()
			if again := transcript(); again != first {
				t.Errorf("%s: %s, then %s", name, first, again)
			}
			if first != want[name] {
				t.Errorf("%s: transcript %q, want %q", name, first, want[name])
			}
		}
	}
}

// TestSpace runs every method with each parameter at the ends of its range, one parameter at a time and all together.
func TestSpace(t *testing.T) {
	for _, private := range []bool{false, true} {
		for _, queries := range []float64{0, 2, 3, 9} {
			for _, m := range everyMethod() {
				w, _ := learning(t, 4, 12, 3, 2)
				w.Rounds, w.Queries = 2, queries
				w.Clients[2].Samples = 5
				if private {
					w.Privacy = &Privacy{Epsilon: 8, Delta: 1e-5}
				}
				space := m.Space(w)
				for corner := range 1 << len(space) {
					s := Setting{}
					for i, p := range space {
						if p.Low > p.High || p.Log && p.Low <= 0 {
							t.Fatalf("%s: %+v is no range", m.Name(), p)
						}
						s[p.Name] = p.Low
						if corner>>i&1 == 1 {
							s[p.Name] = p.High
						}
					}
					if _, err := m.Run(context.Background(), w, s, func(int, [][]float32) error { return nil }); err != nil {
						t.Fatalf("%s, budget %v, %v: %v", m.Name(), queries, s, err)
					}
				}
				if _, clips := with(m, w, nil)["clip"]; clips != private {
					t.Errorf("%s: clip in the space is %v, want %v", m.Name(), clips, private)
				}
			}
		}
	}
}

// TestFaults checks that the error for an invalid world or setting names every invalid field and parameter.
func TestFaults(t *testing.T) {
	for _, m := range everyMethod() {
		w := worldOf(t, 3, []int{4, 4, 4}, func(int, int, []float32) float64 { panic("asked") })
		good := with(m, w, Setting{"tau": 2})
		expect := func(w *World, s Setting, parts ...string) {
			t.Helper()
			_, err := m.Run(context.Background(), w, s, nil)
			for _, part := range parts {
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Errorf("%s: %v, want %q", m.Name(), err, part)
				}
			}
		}
		expect(w, Setting{"warmth": 3}, "is not set", "warmth is set, but there is no such parameter")
		for name := range good {
			wrong := []float64{-1, math.NaN(), math.Inf(1)}
			if !strings.HasSuffix(name, "_decay") && name != "gain" && name != "reset" && name != "paired" {
				wrong = append(wrong, 0)
			}
			for _, v := range wrong {
				s := Setting{}
				for n, v := range good {
					s[n] = v
				}
				s[name] = v
				expect(w, s, fmt.Sprintf("%s: %s is %v, want", m.Name(), name, v))
			}
		}
		bad := &World{Clients: []Client{{}}, Dim: -1, X0: make([]float32, 2), Rounds: 1 << 21, Queries: math.NaN()}
		expect(bad, good, "Clients[0].Oracle", "Clients[0].Samples", "Dim is -1", "X0 has 2", "Rounds is 2097152",
			"Queries is NaN")
		expect(&World{Dim: 1, Rounds: 1}, good, "Clients is empty")
		private := *w
		private.Privacy = &Privacy{Epsilon: -1, Delta: 1e-5}
		expect(&private, with(m, &private, Setting{"tau": 2}), "epsilon")
		switch m.(type) {
		case DPSGD, DPFedAvg: // methods without a network
		default:
			apart := *w
			apart.Graph = nil
			expect(&apart, good, "Graph is nil")
			apart.Graph, _ = topology.Parse("ring", 5, 0)
			expect(&apart, good, "Graph has 5 nodes")
		}

		for _, answer := range []error{nil, errors.New("out of paper")} {
			w.Clients[1].Oracle = zoest.OracleFunc(func(context.Context, []float32, int) (float64, error) {
				return math.NaN(), answer
			})
			w.Clients[0].Oracle = zoest.OracleFunc(func(context.Context, []float32, int) (float64, error) { return 1, nil })
			if answer == nil {
				expect(w, good, "client 1", "loss is NaN")
			} else {
				expect(w, good, "client 1", "out of paper")
			}
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := m.Run(ctx, w, good, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, want that the context is canceled", m.Name(), err)
		}
	}
}

func TestAllocations(t *testing.T) {
	for _, m := range everyMethod() {
		w, _ := learning(t, 4, 20, 5, 2)
		w.Privacy = &Privacy{Epsilon: 8, Delta: 1e-5}
		allocations := func(rounds int) float64 {
			w.Rounds = rounds
			s := with(m, w, Setting{"tau": 2, "reset": 0, "paired": 1})
			return testing.AllocsPerRun(3, func() {
				if _, err := m.Run(context.Background(), w, s, func(int, [][]float32) error { return nil }); err != nil {
					t.Fatal(err)
				}
			})
		}
		if few, many := allocations(5), allocations(45); many-few > 20 {
			t.Errorf("%s: %v allocations in 5 rounds, %v in 45", m.Name(), few, many)
		}
	}
}

func TestMixing(t *testing.T) {
	for _, spec := range []string{"ring", "star", "path", "er:0.4", "complete"} {
		g, err := topology.Parse(spec, 9, 5)
		if err != nil {
			t.Fatal(err)
		}
		mix := newMixing(g)
		unit, image := vectors(9, 9), vectors(9, 9)
		for i := range unit {
			unit[i][i] = 1
		}
		mix.mix(image, unit) // row i of the mixing matrix
		for i := range 9 {
			row, column := 0.0, 0.0
			for j := range 9 {
				if image[i][j] != image[j][i] || image[i][j] < 0 {
					t.Errorf("%s: w_%d%d is %v and w_%d%d is %v", spec, i, j, image[i][j], j, i, image[j][i])
				}
				if i != j && image[i][j] != 0 != slices.Contains(g.Neighbors(i), j) {
					t.Errorf("%s: w_%d%d is %v", spec, i, j, image[i][j])
				}
				row += float64(image[i][j])
				column += float64(image[j][i])
			}
			if math.Abs(row-1) > 1e-6 || math.Abs(column-1) > 1e-6 {
				t.Errorf("%s: row %d adds up to %v, column to %v", spec, i, row, column)
			}
		}
	}
}

func TestNames(t *testing.T) {
	var names bytes.Buffer
	for _, m := range Rivals() {
		fmt.Fprintln(&names, m.Name())
	}
	if want := "LT-ADMM-VR\nLT-ADMM-DP\nDP-SGD\nDP-FedAvg\n1P-DSG\n1P-DSGT\n"; names.String() != want {
		t.Errorf("names are\n%swant\n%s", names.String(), want)
	}
}
