package compare

import (
	"context"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var patients = strings.Fields("-data csv:../../patients.csv -label diagnosis -drop id -onehot ward -graph complete")

// TestRun checks that every method has a row in the table, that the file has every run, and that a second comparison
// prints the same table and does not overwrite the file.
func TestRun(t *testing.T) {
	file := filepath.Join(t.TempDir(), "runs.csv")
	args := append(patients, "-nodes", "4", "-rounds", "3", "-seeds", "1,3", "-trials", "3", "-colluders", "1")
	run := func(args ...string) string {
		t.Helper()
		var out strings.Builder
		if err := Run(context.Background(), args, &out, io.Discard); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	text := run(append(args, "-out", file)...)
	for _, c := range contenders(true, 1) {
		if !strings.Contains(text, "\n"+c.name+" ") {
			t.Errorf("no row for %q in\n%s", c.name, text)
		}
	}
	rows, err := os.ReadFile(file)
	if n := strings.Count(string(rows), "\n"); err != nil || n != 1+2*len(contenders(true, 1)) {
		t.Errorf("%d lines in the file of runs, %v", n, err)
	}
	if again := run(args...); again != text {
		t.Errorf("not the same again:\n%s\n%s", text, again)
	}
	if err := Run(context.Background(), append(args, "-out", file), io.Discard, io.Discard); err == nil {
		t.Error("a file of runs was replaced")
	}
	if text := run(append(patients, "-nodes", "3", "-rounds", "2", "-seeds", "7", "-trials", "1", "-non-private")...); strings.Contains(text,
		"trusted") || !strings.Contains(text, "NOT PRIVATE") {
		t.Errorf("without noise:\n%s", text)
	}
}

// TestIsSimulate checks that the row of SPADE-DFL equals the result of "spade-edge simulate" with the same flags: an
// accuracy of 71.00 % from 120,000 losses.
func TestIsSimulate(t *testing.T) {
	o, err := parse(append(patients, "-nodes", "20", "-seeds", "1"), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	all, err := o.stages(1)
	if err != nil {
		t.Fatal(err)
	}
	c := contenders(true, 0)[2]
	r, err := c.run(context.Background(), &all[0], nil, 0)
	if err != nil || c.name != own || math.Abs(r.accuracy-71) > 1e-9 || r.spent.Queries != 120_000 || r.losses != 3 {
		t.Errorf("%s: %+v, %v", c.name, r, err)
	}
	for _, s := range all[1:] {
		if n := s.train.Len() + s.test.Len(); n != all[0].train.Len() || s.test.Len() != 160 {
			t.Errorf("a search sees %d samples, %d of them to judge by, want the %d of the training set and 160", n, s.test.Len(),
				all[0].train.Len())
		}
	}
}

// TestFiles checks that, with one file per client, the result equals the result of "spade-edge simulate".
func TestFiles(t *testing.T) {
	text, err := os.ReadFile(filepath.FromSlash("../../patients.csv"))
	if err != nil {
		t.Fatal(err)
	}
	head, rows, _ := strings.Cut(string(text), "\n")
	dir := t.TempDir()
	for i, share := range []string{rows[:len(rows)/3], rows[len(rows)/3:]} {
		_, share, _ = strings.Cut(share, "\n")
		share = share[:strings.LastIndex(share, "\n")]
		if err := os.WriteFile(filepath.Join(dir, []string{"a.csv", "b.csv"}[i]), []byte(head+"\n"+share), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"-data", "csv:" + filepath.Join(dir, "*.csv"), "-label", "diagnosis", "-drop", "id", "-onehot", "ward"}
	o, err := parse(args, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	all, err := o.stages(1)
	if err != nil {
		t.Fatal(err)
	}
	w := all[0].world
	if o.graph != "complete" || len(w.Clients) != 2 || w.Clients[1].Samples < w.Clients[0].Samples*3/2 ||
		w.Clients[0].Samples+w.Clients[1].Samples != all[0].train.Len() {
		t.Errorf("%+v on %s", w.Clients, o.graph)
	}
	if _, err := parse(append(args, "-nodes", "5", "-partition", "iid"), io.Discard); err == nil ||
		!strings.Contains(err.Error(), "-partition") || !strings.Contains(err.Error(), "-nodes is 5") {
		t.Error(err)
	}
}

// TestSmallClients checks that a client with a single sample trains on that sample, in the comparison and in the
// searches.
func TestSmallClients(t *testing.T) {
	o, err := parse(append(patients, "-nodes", "700", "-partition", "dirichlet:0.3,unbalanced"), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	all, err := o.stages(1)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		for i, c := range s.world.Clients {
			if c.Samples < 1 {
				t.Fatalf("client %d has no sample", i)
			}
		}
	}
	if n := all[1].train.Len() + all[1].test.Len(); n != all[0].train.Len() {
		t.Errorf("%d samples, want %d", n, all[0].train.Len())
	}
}

// TestWrongFlags checks that wrong flags are reported before any data is read.
func TestWrongFlags(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"-nodes 1", "-nodes is 1"}, {"-rounds 0", "-rounds is 0"}, {"-epsilon 0", "-epsilon is 0"}, {"-delta 1", "-delta is 1"},
		{"-non-private -colluders 1", "-colluders"}, {"-trials 0", "-trials"}, {"-test-fraction 0", "-test-fraction"},
		{"-seeds 5..1", "5..1"}, {"-seeds 1,1", "twice"}, {"-seeds x", `"x"`}, {"-partition half", "partition"},
		{"-data csv:none.csv", "label"}, {"more", "more"}, {"-graph tree", "-graph"}, {"-data csv:none.csv -label x", "none.csv"},
	} {
		if err := Run(context.Background(), strings.Fields(c.args), io.Discard, io.Discard); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want an error that names %q", c.args, err, c.want)
		}
	}
}
