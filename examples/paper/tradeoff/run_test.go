package tradeoff

import (
	"context"
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/zoest"
)

// TestScalars checks that the counts of numbers sent and the four savings are exactly as stated in the paper.
func TestScalars(t *testing.T) {
	if got := (Budget{29791, 1}).Scalars(); got != 23832800 {
		t.Errorf("tau = 1: %d numbers sent, the paper has 23,832,800", got)
	}
	if got := (Budget{29791, 31}).Scalars(); got != 768800 {
		t.Errorf("tau = 31: %d numbers sent, the paper has 768,800", got)
	}
	for i, want := range []int64{10, 15, 22, 31} {
		often, seldom := Budgets[0][i], Budgets[1][i]
		if often.Steps != seldom.Steps || often.Scalars() != want*seldom.Scalars() || int64(seldom.Tau) != want {
			t.Errorf("T = %d: %d and %d numbers sent, want a factor of %d", often.Steps, often.Scalars(), seldom.Scalars(), want)
		}
		if seldom.Tau*seldom.Tau*seldom.Tau != seldom.Steps {
			t.Errorf("tau = %d is no cube root of %d", seldom.Tau, seldom.Steps)
		}
	}
}

func TestSixthRoot(t *testing.T) {
	for _, x := range []float64{1, 2, 64, 1000, 3375, 10648, 29791, 1e9} {
		if got, want := sixthRoot(x), math.Pow(x, 1.0/6); math.Abs(got/want-1) > 1e-15 {
			t.Errorf("%v: %v, want %v", x, got, want)
		}
	}
}

// TestMeasureAgainstReference compares a run with an independent implementation of Algorithm 1 that reveals all
// iterates. The reference uses package zoest only for the estimates, and computes everything else in float64. Both
// parts of the criterion agree up to float32 rounding.
func TestMeasureAgainstReference(t *testing.T) {
	for _, c := range []struct {
		Budget
		Setting
	}{
		{Budget{12, 1}, Setting{1, 2, 0.75, Samples, false}},
		{Budget{12, 4}, Setting{1, 2, 0.75, Samples, false}},
		{Budget{12, 4}, Setting{0.5, 3, 0.5, 1, false}},
		{Budget{15, 3}, Setting{1, 2, 0.75, 4, true}},
	} {
		got, err := measure(context.Background(), c.Budget, c.Setting, 7)
		if err != nil {
			t.Fatal(err)
		}
		gradient, disagreement, queries := reference(t, c.Budget, c.Setting, 7)
		if math.Abs(got.Stationarity/gradient-1) > 1e-5 || math.Abs(got.Consensus/disagreement-1) > 1e-5 {
			t.Errorf("%+v: gradient %v and disagreement %v, the reference has %v and %v", c, got.Stationarity, got.Consensus,
				gradient, disagreement)
		}
		if got.Scalars != c.Scalars() {
			t.Errorf("%+v: %d numbers sent, want %d", c, got.Scalars, c.Scalars())
		}
		if want := c.Queries(c.Batch); queries != want {
			t.Errorf("%+v: %d losses asked for, want %d", c, queries, want)
		}
		if got.Start != NewInstance(7).start() {
			t.Errorf("start %v", got.Start)
		}
	}
}

func reference(t *testing.T, b Budget, s Setting, seed uint64) (gradient, disagreement float64, queries int64) {
	p := NewInstance(seed)
	steps := float64(b.Steps)
	eta, mu := s.Eta0*math.Pow(steps, -0.5), s.Mu0*math.Pow(steps, -1.0/6)
	const rho, lambda = 1, 4 // eigenvalue of a cycle with an even number of nodes
	beta := s.Gain * 8 / (3 * rho * lambda) / (float64(b.Tau) * eta * mu)
	var est [Clients]*zoest.Estimator
	var x [Clients][]float64
	z := map[[2]int][]float64{}
	neighbors := func(i int) []int { return []int{(i + 1) % Clients, (i + Clients - 1) % Clients} }
	for i := range est {
		var err error
		est[i], err = zoest.NewEstimator(zoest.Config{Dim: Dim, Samples: Samples, Batch: s.Batch,
			Seed: seed, Client: uint32(i)})
		if err != nil {
			t.Fatal(err)
		}
		x[i] = make([]float64, Dim)
		for c, v := range p.X0 {
			x[i][c] = float64(v)
		}
		for _, j := range neighbors(i) {
			z[[2]int{i, j}] = slices.Clone(x[i])
		}
	}
	point := func(x []float64) []float32 {
		out := make([]float32, Dim)
		for c, v := range x {
			out[c] = float32(v)
		}
		return out
	}
	var last [Clients][Samples]float32
	answer := func(i int) {
		for q := est[i].Next(); len(q) > 0; q = est[i].Next() {
			queries++
			loss := p.Loss(i, q[0].Sample, q[0].Point)
			if before := &last[i][q[0].Sample]; s.Centered {
				loss, *before = float64(float32(loss)-*before), float32(loss)
			}
			if err := est[i].Answer(loss); err != nil {
				t.Fatal(err)
			}
		}
	}
	rounds := b.Steps / b.Tau
	for k := range rounds {
		mean := make([][Dim]float64, b.Tau)
		var next [Clients][]float64
		for i := range est {
			penalty := make([]float64, Dim)
			for c := range penalty {
				penalty[c] = rho * 2 * x[i][c]
				for _, j := range neighbors(i) {
					penalty[c] -= z[[2]int{i, j}][c]
				}
			}
			phi := slices.Clone(x[i])
			est[i].Fill(k, point(x[i]), mu)
			answer(i)
			for t := range b.Tau {
				for c, v := range phi {
					mean[t][c] += v / Clients
				}
				est[i].Step(point(phi))
				answer(i)
				for c, v := range est[i].Estimate() {
					phi[c] -= eta * (float64(v) + mu*beta*penalty[c])
				}
			}
			next[i] = phi
		}
		var g [Dim]float64
		for t := range mean {
			gradient += p.Gradient(&g, &mean[t]) / float64(b.Steps)
		}
		for i := range x {
			for c, v := range x[i] {
				disagreement += (v - mean[0][c]) * (v - mean[0][c]) / float64(Clients*rounds)
			}
		}
		// m_ij = z_ij - 2 rho x_i, z_ij <- (z_ij - m_ji)/2.
		after := map[[2]int][]float64{}
		for ij, v := range z {
			i, j := ij[0], ij[1]
			after[ij] = make([]float64, Dim)
			for c := range v {
				after[ij][c] = (v[c] - (z[[2]int{j, i}][c] - 2*rho*next[j][c])) / 2
			}
		}
		x, z = next, after
	}
	return gradient, disagreement, queries
}

func TestMeasureRefuses(t *testing.T) {
	for _, b := range []Budget{{10, 3}, {0, 1}, {10, 0}} {
		if _, err := measure(context.Background(), b, Setting{1, 1, 0.5, 4, false}, 1); err == nil {
			t.Errorf("%+v is accepted", b)
		}
	}
	if _, err := measure(context.Background(), Budget{10, 2}, Setting{1, 1, 1.5, 4, false}, 1); err == nil {
		t.Error("a gain above the limit of stability is accepted")
	}
}

// TestRunGoesOn runs the whole experiment with small budgets. It checks that a second run computes nothing, and that a
// run completes truncated files, which then have the same bytes as before, except for the lines about their origin.
func TestRunGoesOn(t *testing.T) {
	kept := all
	defer func() { all = kept }()
	all = slices.Clone(all)
	for i := range all {
		all[i].budgets = []Budget{{8, 1}, {12, 1}, {16, 1}, {20, 1}}
		if all[i].schedule != "1" {
			all[i].budgets = []Budget{{8, 2}, {12, 3}, {16, 4}, {20, 5}}
		}
	}
	out := t.TempDir()
	var log strings.Builder
	if err := Run(context.Background(), out, 2, &log); err != nil {
		t.Fatal(err)
	}
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(out, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	trials, runs, readme := read("trials.csv"), read("runs.csv"), read("README.md")
	if n := strings.Count(runs, "\n"); n != 1+4*4*2 {
		t.Errorf("%d lines in runs.csv, want a header and 32 runs", n)
	}
	if !strings.Contains(log.String(), "32 of 32") {
		t.Errorf("the log does not say that 32 runs were made:\n%s", log.String())
	}
	log.Reset()
	if err := Run(context.Background(), out, 2, &log); err != nil {
		t.Fatal(err)
	}
	if log.Len() > 0 {
		t.Errorf("computed again:\n%s", log.String())
	}
	// Remove the last rows, truncate one row, and add a row computed with a different setting.
	lines := strings.SplitAfter(runs, "\n")
	cells := strings.Split(lines[1], ",")
	cells[5] = "123"
	lines[1] = strings.Join(cells, ",")
	if err := os.WriteFile(filepath.Join(out, "runs.csv"), []byte(strings.Join(lines[:20], "")+lines[20][:30]),
		0o666); err != nil {
		t.Fatal(err)
	}
	if err := Run(context.Background(), out, 2, &log); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.String(), "14 of 14") {
		t.Errorf("want 13 missing runs and one of another setting:\n%s", log.String())
	}
	if read("trials.csv") != trials || read("runs.csv") != runs || read("README.md") != readme {
		t.Error("files differ from those of a program that was not stopped")
	}
	if len(read("tradeoff.svg")) < 1000 {
		t.Error("tradeoff.svg is empty")
	}
	for _, seeds := range []int{0, TuningSeed} {
		if err := Run(context.Background(), out, seeds, &log); err == nil {
			t.Errorf("%d seeds are accepted", seeds)
		}
	}
}

// TestCommittedResults repeats one cell of the committed results and compares it digit by digit. It also checks that
// the statements in the text of the page are true.
func TestCommittedResults(t *testing.T) {
	dir := filepath.Join("..", "results", "tradeoff")
	f, err := os.Open(filepath.Join(dir, "runs.csv"))
	if err != nil {
		t.Skip("no committed results: ", err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]map[int]float64{} // S_K by series and T
	starts, seeds := map[int]float64{}, map[string]bool{}
	again := 0
	for _, row := range rows[1:] {
		number := func(i int) float64 {
			v, err := strconv.ParseFloat(row[i], 64)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		b := Budget{int(number(2)), int(number(4))}
		s := Setting{number(5), number(6), number(7), int(number(8)), row[0] == "centered"}
		if int64(number(9)) != b.Scalars() || int64(number(10)) != b.Queries(s.Batch) {
			t.Errorf("row %v: want %d numbers sent and %d losses asked", row, b.Scalars(), b.Queries(s.Batch))
		}
		name := row[0] + " " + row[1]
		if sums[name] == nil {
			sums[name] = map[int]float64{}
		}
		sums[name][b.Steps] += number(11) + number(12)
		if name == "paper 1" {
			starts[b.Steps] += number(13)
		}
		seeds[row[3]] = true
		if b == (Budget{1000, 10}) && row[3] == "1" {
			again++
			c, err := measure(context.Background(), b, s, 1)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := []string{format(c.Stationarity), format(c.Consensus), format(c.Start)},
				row[11:14]; !slices.Equal(got, want) {
				t.Errorf("%s, T = 1000, seed 1: %v, committed are %v", name, got, want)
			}
		}
	}
	if again != 2 {
		t.Errorf("%d cells were run again, want 2", again)
	}
	if seeds[strconv.Itoa(TuningSeed)] {
		t.Error("the instance that was tuned on is reported")
	}
	for name, s := range sums {
		for i := 1; i < 4; i++ {
			if before, now := s[Budgets[0][i-1].Steps], s[Budgets[0][i].Steps]; !(now < before) {
				t.Errorf("%s: S rises from %v to %v at T = %d", name, before, now, Budgets[0][i].Steps)
			}
		}
		if ratio := s[29791] / starts[29791]; strings.Contains(name, "T^") && ratio > 0.1 {
			t.Errorf("%s: S over its start is %v at T = 29791, aimed at is 0.1", name, ratio)
		}
	}
	readme, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"768800", "23832800", "0.010392", "0.000372",
		fmt.Sprintf("seeds 1 to %d;", len(seeds))} {
		if !strings.Contains(string(readme), want) {
			t.Errorf("README.md does not say %q", want)
		}
	}
}
