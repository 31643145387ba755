package main

import (
	"io"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/examples/adapter/frozen"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/zoest"
)

// TestForwardPassesAdaptANetwork checks that eight members can adapt a frozen network of 101,770 parameters to their
// cameras with forward passes alone.
func TestForwardPassesAdaptANetwork(t *testing.T) {
	trial, err := newTrial("", 100, 20_000, 1000)
	if err != nil {
		t.Fatal(err)
	}
	before := trial.Accuracy(trial.base, trial.held)
	t.Logf("before %.3f", before)
	for _, c := range []struct {
		name    string
		way     way
		privacy string
		gain    float64
	}{
		{"biases", way{frozen.Large.Biases(), 1, 0.1, 8, 6}, open, 0.05},
		{"random subspace", way{frozen.Large.Subspace(256), 0.006, 0.01, 10, 0.5}, open, 0.02},
		{"biases", way{frozen.Large.Biases(), 1, 0.1, 8, 6}, record, 0.08},
	} {
		o, err := c.way.train(c.privacy, trial)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %.3f, %d bytes, %d queries", c.name, o.accuracy, o.bytes, o.queries)
		if o.accuracy < before+c.gain {
			t.Errorf("%s: %.3f right, before %.3f, want %.2f more", c.name, o.accuracy, before, c.gain)
		}
		if most := int64(5*c.way.spec.Dim*(members-1)) + 2000; o.bytes > most {
			t.Errorf("%s: %d bytes a member and round, want at most %d", c.name, o.bytes, most)
		}
	}
}

// TestFewRecords checks that all runs of the comparison make the same number of queries and that the table has an
// accuracy for each run.
func TestFewRecords(t *testing.T) {
	s := study{network: frozen.Small, dims: []int{8, 16}, each: []int{4, 6}, total: 6, queries: []int{2, 3}, scales: []scale{{1, 1}, {0.5, 2}}, seeds: 2, clean: 500, held: 50}
	source, err := frozen.Open(s.network, "", s.clean)
	if err != nil {
		t.Fatal(err)
	}
	trial, err := dealt(source, 4, 10, 1, false)
	if err != nil {
		t.Fatal(err)
	}
	check := func(what any, f *sdk.Fleet, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		o, err := trial.run(f, s.network.Subspace(f.Dim))
		if want := int64(members * 4 * s.total); err != nil || o.queries != want {
			t.Errorf("%+v: %d queries, want %d; %v", what, o.queries, want, err)
		}
	}
	for _, kind := range []zoest.Kind{zoest.Paper, zoest.Tracking} {
		for _, q := range s.queries {
			c := cell{8, 4, kind, q}
			f, err := s.fleet(c, scale{1, 2}, 1)
			check(c, f, err)
		}
	}
	f, err := s.byDefault(8, 4, 1)
	check("defaults", f, err)

	var out strings.Builder
	if err := fewRecords("", s, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	if len(lines) != 2+2*2*2+3 {
		t.Errorf("%d lines, want a header, 8 rows and a note:\n%s", len(lines), &out)
	}
	for _, line := range lines[:2+2*2*2] {
		if strings.Count(line, "|") != 7 {
			t.Errorf("%q has not six columns", line)
		}
	}
}

func TestDemonstrateRefuses(t *testing.T) {
	if err := demonstrate(t.TempDir(), 10, io.Discard); err == nil {
		t.Error("a folder without MNIST")
	}
	if err := demonstrate("", 100_000, io.Discard); err == nil || !strings.Contains(err.Error(), "want 1..5000") {
		t.Errorf("too many digits: %v", err)
	}
}
