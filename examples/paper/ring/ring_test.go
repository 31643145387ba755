package ring

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task"
	"github.com/spade-dfl/spade-edge/dpmech/certificate"
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

var data = filepath.FromSlash("../../../../shared/data")

func digits(t *testing.T) *task.Set {
	t.Helper()
	if _, err := os.Stat(filepath.Join(data, "mnist-6-7")); err != nil {
		t.Skip("no data: ", err)
	}
	set, err := loaded()
	if err != nil {
		t.Fatal(err)
	}
	return set
}

var loaded = sync.OnceValues(func() (*task.Set, error) { return load(data) })

// TestPrivacy checks that every client's epsilon is at most the paper's epsilon and at most 0.01 below it, and that the
// noise is 8.489 times the clipping norm.
func TestPrivacy(t *testing.T) {
	f, err := fleet(10, 1, full)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Plan(); err != nil {
		t.Fatal(err)
	}
	if got := certificate.CostOf(f.Total(f.Method.Rounds), Delta).EpsilonGDP; got > Epsilon || got < Epsilon-0.01 {
		t.Errorf("epsilon is %v, want hardly less than %v", got, Epsilon)
	}
	if ratio := f.Privacy.Sigma / f.Privacy.Clip; math.Abs(ratio-8.489) > 0.001 {
		t.Errorf("sigma/R is %v, want 8.489", ratio)
	}
	if len(f.Members) != 1000 || len(f.Edges) != 1000 || f.Method.Rounds != 50 || f.Method.Tau != 8 ||
		f.Privacy.NonPrivate {
		t.Errorf("%d members, %d edges, %+v", len(f.Members), len(f.Edges), f.Method)
	}
}

// TestConstants checks that the constants equal, to three digits, what the program chooses from public numbers:
// 1.5/sqrt(d), 0.4*mu*sqrt(queries/steps), and 1.5*mu*sqrt(d)/K.
func TestConstants(t *testing.T) {
	const d, samples = 10, 12183
	for name, v := range map[string][2]float64{
		"mu":   {mu, 1.5 / math.Sqrt(d)},
		"eta":  {eta, 0.4 * mu * math.Sqrt(samples/float64(Rounds*Tau))},
		"clip": {clip, 1.5 * mu * math.Sqrt(d) / Rounds},
	} {
		if want, _ := strconv.ParseFloat(strconv.FormatFloat(v[1], 'g', 3, 64), 64); v[0] != want {
			t.Errorf("%s is %v, want %v", name, v[0], want)
		}
	}
}

func TestScorer(t *testing.T) {
	s := rng.New(1, rng.Address{Purpose: rng.Generate})
	d := &task.Data{Dim: 10, Classes: 2}
	for range 500 {
		d.Y = append(d.Y, s.IntN(2))
		for range d.Dim {
			d.X = append(d.X, float32(s.Normal()))
		}
	}
	fast, slow := newScorer(d), task.NewSoftmax(d)
	for range 200 {
		x := make([]float32, d.Dim)
		for j := range x {
			x[j] = float32(s.Normal())
		}
		if got, want := float64(fast.right(x))/500, slow.Accuracy(x); got != want {
			t.Errorf("accuracy %v, want %v", got, want)
		}
	}
}

// TestShares checks that each partition deals out all samples and gives some to every client, and that the clients'
// shares of digit 7 vary more in partitions with stronger skew.
func TestShares(t *testing.T) {
	set := digits(t)
	var before float64
	for _, p := range Partitions {
		all, err := shares(set, p, Nodes, 1)
		if err != nil {
			t.Fatal(err)
		}
		var mean, square float64
		for _, s := range all {
			mean += s.Share / Nodes
			square += s.Share * s.Share / Nodes
		}
		spread := math.Sqrt(square - mean*mean)
		t.Logf("%s: %d clients, mean share %.3f, spread %.3f", p, len(all), mean, spread)
		if len(all) != Nodes || math.Abs(mean-0.514) > 0.01 {
			t.Errorf("%s: %d clients with a mean share of %v", p, len(all), mean)
		}
		if p != "pathological:2" && spread <= before {
			t.Errorf("%s: spread %v, of the partition before %v", p, spread, before)
		}
		before = spread
	}
}

// TestRunGoesOn runs the whole experiment on a small ring. It checks that a second run computes nothing, and that an
// interrupted run is completed.
func TestRunGoesOn(t *testing.T) {
	set := digits(t)
	kept := full
	defer func() { full = kept }()
	full = size{nodes: 20, rounds: 3, cooldown: 40}
	out := t.TempDir()
	var log strings.Builder
	if err := study(context.Background(), set, out, 2, &log); err != nil {
		t.Fatal(err)
	}
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(out, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	runs, readme := read("runs.csv"), read("README.md")
	if n := strings.Count(runs, "\n"); n != 1+5*2*3 {
		t.Errorf("%d lines in runs.csv, want a header, and 3 for each of 10 runs", n)
	}
	if !strings.HasPrefix(runs, "partition,seed,model,1,2,3,13,23,33,43\n") {
		t.Errorf("header of\n%s", runs)
	}
	log.Reset()
	lines := strings.SplitAfter(runs, "\n")
	for _, rows := range []int{len(lines), 9} { // all rows, or two of the three rows of the last remaining run
		if err := os.WriteFile(filepath.Join(out, "runs.csv"), []byte(strings.Join(lines[:rows], "")), 0o666); err != nil {
			t.Fatal(err)
		}
		if err := study(context.Background(), set, out, 2, &log); err != nil {
			t.Fatal(err)
		}
		if rows == len(lines) && log.Len() > 0 {
			t.Errorf("computed again:\n%s", log.String())
		}
		if read("runs.csv") != runs || read("README.md") != readme {
			t.Errorf("with %d lines left, files differ from those of a program that was not stopped", rows)
		}
	}
	if !strings.Contains(log.String(), "8 of 8") {
		t.Errorf("want 8 runs made again:\n%s", log.String())
	}
	if err := Run(context.Background(), filepath.Join(out, "nowhere"), out, 2, &log); err == nil {
		t.Error("a folder without data is accepted")
	}
}

// TestFirstRounds repeats the first rounds of one run with today's noise and compares the accuracies digit by digit.
func TestFirstRounds(t *testing.T) {
	z := full
	z.stop = 3
	curves, err := run(context.Background(), digits(t), "dirichlet:0.1", 2, z)
	if err != nil {
		t.Fatal(err)
	}
	want := [][]string{
		{"dirichlet:0.1", "2", Held, "0.5196208", "0.5293066", "0.5384542"},
		{"dirichlet:0.1", "2", Averaged, "0.5196208", "0.5367246", "0.5491793"},
		{"dirichlet:0.1", "2", Network, "0.9561934", "0.9390735", "0.9300101"},
	}
	if got := rows(curves); !reflect.DeepEqual(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestCommittedPage checks that the committed page shows the mean of one cell's rows. testdata has the rows of this cell
// from the page's own computation, which had another sampler of noise (see README.md, "Where each result was measured"),
// so no run is repeated here.
func TestCommittedPage(t *testing.T) {
	table, err := open("testdata")
	if err != nil {
		t.Fatal(err)
	}
	const seeds = 30
	all, err := read(table, seeds)
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile(filepath.Join("..", "results", "ring", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	var mean float64
	for _, a := range values(all, "iid", Held, Rounds) {
		mean += a / float64(seeds)
	}
	for _, want := range []string{fmt.Sprintf("| iid | %s | %.2f (", Held, mean), fmt.Sprintf("Seeds 1 to %d.", seeds)} {
		if !strings.Contains(string(readme), want) {
			t.Errorf("README.md does not say %q", want)
		}
	}
}
