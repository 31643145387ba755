package method

import (
	"context"
	"fmt"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task"
	"github.com/spade-dfl/spade-edge/sdk/topology"
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// learning returns a world as large as the worlds of the comparison, and a function that returns a model's accuracy.
// Each of the n clients has m samples of a linear problem in which nine of ten labels are right.
func learning(t testing.TB, n, m, features, classes int) (*World, func(x []float32) float64) {
	s := rng.New(7, rng.Address{Purpose: rng.Generate})
	d := &task.Data{Dim: features, Classes: classes}
	truth := make([]float64, features*classes)
	for i := range truth {
		truth[i] = s.Normal()
	}
	for range n * m {
		row := make([]float64, features)
		best, at := -1e9, 0
		for c := range classes {
			z := 0.0
			for i := range row {
				if c == 0 {
					row[i] = s.Normal()
				}
				z += float64(row[i] * truth[c*features+i])
			}
			if z > best {
				best, at = z, c
			}
		}
		if s.Float64() < 0.1 {
			at = s.IntN(classes)
		}
		for _, v := range row {
			d.X = append(d.X, float32(v))
		}
		d.Y = append(d.Y, at)
	}
	g, err := topology.Parse("er:0.3", n, 3)
	if err != nil {
		t.Fatal(err)
	}
	w := &World{Graph: g, Rounds: 50, Seed: 1, Queries: 3}
	for i := range n {
		idx := make([]int, m)
		for h := range idx {
			idx[h] = i*m + h
		}
		o := task.NewSoftmax(d.Select(idx))
		w.Dim = o.Dim()
		w.Clients = append(w.Clients, Client{Oracle: o, Samples: m})
	}
	all := task.NewSoftmax(d)
	return w, all.Accuracy
}

// good returns a setting with which the method m did well in a few trials on worlds from the function learning.
func good(m Method, w *World) Setting {
	s := Setting{}
	for _, p := range m.Space(w) {
		s[p.Name] = map[string]float64{"tau": 2, "dirs": 8, "gamma": 2, "eta": 2, "gain": 0.4, "mu": 0.1, "clip": 0.3,
			"reset": 0, "paired": 0, "alpha": 20,
			"alpha_decay": 0.25, "gamma_decay": 0.1}[p.Name]
		if p.Name == "gamma" && s["alpha"] > 0 {
			s["gamma"] = 0.5
		}
	}
	return s
}

func BenchmarkRun(b *testing.B) {
	for _, size := range [][2]int{{10, 2}, {10, 4}} {
		for _, private := range []bool{false, true} {
			w, accuracy := learning(b, 31, 400, size[0], size[1])
			if private {
				w.Privacy = &Privacy{Epsilon: 8, Delta: 1e-5}
			}
			for _, m := range Rivals() {
				b.Run(fmt.Sprintf("d=%d/private=%v/%s", w.Dim, private, m.Name()), func(b *testing.B) {
					b.ReportAllocs()
					var mean float64
					for range b.N {
						_, err := m.Run(context.Background(), w, good(m, w), func(k int, x [][]float32) error {
							mean = 0
							if k == w.Rounds {
								for i := range x {
									mean += 100 * accuracy(x[i]) / float64(len(x))
								}
							}
							return nil
						})
						if err != nil {
							b.Fatal(err)
						}
					}
					b.ReportMetric(mean, "%right")
				})
			}
		}
	}
}
