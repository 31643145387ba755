package records

import (
	"context"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task"
	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/examples/paper/data"
	"github.com/spade-dfl/spade-edge/examples/paper/method"
)

var folder = filepath.FromSlash("../../../../shared/data")

func clinical(t *testing.T, s scene) *stage {
	t.Helper()
	train, test := task.Clinical(120, 1), task.Clinical(60, 2)
	st, err := newStage(s, data.Split{Train: train.WithBias(), Test: test.WithBias()}, 4, 1)
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// TestEqualQueries checks that every method supports record-level privacy and that, for any trial in its space, a
// method queries no more losses of a record than SPADE-DFL does.
func TestEqualQueries(t *testing.T) {
	for _, c := range contenders() {
		if c.hand != nil {
			continue
		}
		s := scene{"alzheimers", 5, "complete"}
		if c.pooled {
			s = curator([]scene{s})[0]
		}
		st := clinical(t, s)
		if p := st.world.Privacy; p.Unit != dpmech.Record || p.Delta != 1e-5 {
			t.Fatalf("the guarantee is %+v", p)
		}
		for _, share := range []float64{0, 0.5, 1} {
			trial := method.Setting{}
			for _, p := range c.space {
				trial[p.Name] = p.At(share)
			}
			_, spent, err := c.run(context.Background(), st, trial)
			if err != nil {
				t.Fatalf("%s at %v: %v", c.name, trial, err)
			}
			most := int64(st.world.Rounds) * int64(st.world.Queries) * int64(st.split.Train.Len())
			least := most // for SPADE-DFL, which needs no search and asks for all losses
			if c.space != nil {
				least = 1
			}
			if c.exact {
				least, most = 0, 0
			}
			if spent.Queries < least || spent.Queries > most {
				t.Errorf("%s at %v asks for %d losses, want %d to %d", c.name, trial, spent.Queries, least, most)
			}
		}
	}
}

// TestReach checks that the model moves by the trial's reach in total if all steps are clipped.
func TestReach(t *testing.T) {
	st := clinical(t, scene{"alzheimers", 5, "complete"})
	for _, c := range contenders() {
		if c.space == nil {
			continue
		}
		w, s := c.adapt(st.world, method.Setting{"reach": 6, "clip": 0.5, "rounds": 12, "tau": 3, "gain": 0.5})
		step, n := s["eta"], float64(w.Rounds)
		if s["gamma"] > 0 {
			step, n = s["gamma"], n*s["tau"]
		}
		if got := step * n * s["clip"]; math.Abs(got-6) > 1e-9 {
			t.Errorf("%s: reach %v, want 6", c.name, got)
		}
	}
}

// TestDealing checks that changing the label of a record moves no record to another client.
func TestDealing(t *testing.T) {
	train := task.Clinical(50, 1)
	other := *train
	other.Y = slices.Clone(train.Y)
	other.Y[3] = 1 - other.Y[3]
	x := make([]float32, train.Dim)
	x[0] = 0.5
	var losses [2][]float64
	for i, d := range []*task.Data{train, &other} {
		st, err := newStage(scene{"alzheimers", 5, "complete"}, data.Split{Train: d, Test: train}, 1, 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range st.world.Clients {
			for h := range c.Samples {
				f, err := c.Oracle.Loss(context.Background(), x, h)
				if err != nil {
					t.Fatal(err)
				}
				losses[i] = append(losses[i], f)
			}
		}
	}
	differ := 0
	for h := range losses[0] {
		if losses[0][h] != losses[1][h] {
			differ++
		}
	}
	if differ != 1 {
		t.Errorf("%d losses differ, want the one of the record with another label", differ)
	}
}

// TestReport checks that the page shows the mean and the standard error of the existing runs, and names the missing
// runs.
func TestReport(t *testing.T) {
	dir := t.TempDir()
	s, err := open(folder, dir)
	if err != nil {
		t.Fatal(err)
	}
	for seed, accuracy := range []string{"80.0000", "82.0000", "87.0000"} {
		if err := s.runs.Add([]string{"fashion", "10", "DP-FedSGD", "2", strconv.Itoa(seed + 1), accuracy, "304.0000", "0.1", "clip=1"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.write(dir, 3); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| DP-FedSGD | nobody | - | - | 83.0 ± 2.1 | - | - |", "cells are not complete"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("no %q in the page", want)
		}
	}
	table, err := os.ReadFile(filepath.Join(dir, "cells.csv"))
	if want := "fashion,10,DP-FedSGD,2,3,83.00,2.08,304,clip=1\n"; err != nil || !strings.HasSuffix(string(table), want) {
		t.Errorf("%q, %v, want a line %q", table, err, want)
	}
}

// TestCommittedResults repeats some runs and compares the results with testdata, digit by digit. Runs of the rivals are
// those of the committed page. Runs of SPADE-DFL were made after it, with today's sampler of noise (see README.md of the
// module, "Where each result was measured").
func TestCommittedResults(t *testing.T) {
	if _, err := os.Stat(filepath.Join(folder, "fashion-0-1")); err != nil {
		t.Skip("no data: ", err)
	}
	dir := t.TempDir() // a copy, because opening a folder may write to it
	committed, err := os.ReadFile(filepath.Join("testdata", "runs.csv"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "runs.csv"), committed, 0o666); err != nil {
		t.Fatal(err)
	}
	s, err := open(folder, dir)
	if err != nil {
		t.Fatal(err)
	}
	made := 0
	for _, c := range cells(data.Names) {
		for seed := 1; seed <= 30; seed++ {
			rows := s.runs.Rows(append(c.key(), strconv.Itoa(seed))...)
			if rows == nil {
				continue
			}
			made++
			trial := method.Setting{}
			for _, part := range strings.Fields(rows[0][8]) {
				name, number, _ := strings.Cut(part, "=")
				if trial[name], err = strconv.ParseFloat(number, 64); err != nil {
					t.Fatal(err)
				}
			}
			st, err := s.stage(c.scene, c.epsilon, uint64(seed), false)
			if err != nil {
				t.Fatal(err)
			}
			got, _, err := c.run(context.Background(), st, trial)
			if err != nil || number(got) != rows[0][5] {
				t.Errorf("%v, seed %d: %s, %v, committed is %s", c.key(), seed, number(got), err, rows[0][5])
			}
		}
	}
	if made < 9 {
		t.Errorf("%d runs are in testdata, want one of each method", made)
	}
}

// TestResumes checks that an interrupted computation continues and produces the same page as an uninterrupted
// computation.
func TestResumes(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes seconds")
	}
	if _, err := os.Stat(filepath.Join(folder, "fashion-0-1")); err != nil {
		t.Skip("no data: ", err)
	}
	s, err := open(folder, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	c := cells([]string{"fashion"})[5*2] // DP-FedSGD
	ctx, stop := context.WithCancel(context.Background())
	stop()
	if _, err := s.fill(ctx, c, 2); err == nil || len(s.values(c, 2)) > 0 {
		t.Errorf("%v, and %d runs after a stop", err, len(s.values(c, 2)))
	}
	if _, err := s.fill(context.Background(), c, 2); err != nil || len(s.values(c, 2)) != 2 {
		t.Fatalf("%v, %d runs, want 2", err, len(s.values(c, 2)))
	}
	first := s.values(c, 2)
	if _, err := s.fill(context.Background(), c, 3); err != nil || !slices.Equal(s.values(c, 3)[:2], first) {
		t.Errorf("%v, %v, want %v again", err, s.values(c, 3), first)
	}
	if err := Run(context.Background(), folder, t.TempDir(), nil, 2, io.Discard); err != nil {
		t.Errorf("nothing to do: %v", err)
	}
}
