package program

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"

	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// clinics writes four files of patients in which column x predicts the illness. They differ in column order and
// separators, and one has a missing cell.
func clinics(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	s := rng.New(1, rng.Address{Purpose: rng.Fault})
	for f := range 4 {
		text := "x,z,ill\n"
		for i := range 40 + 10*f {
			x := s.Normal()
			line := fmt.Sprintf("%.2f,%.2f,%v\n", x, s.Normal(), x+0.3*s.Normal() > 0)
			if f == 2 && i%7 == 0 {
				line = line[strings.Index(line, ","):]
			}
			text += line
		}
		if f == 3 {
			text = strings.ReplaceAll(strings.ReplaceAll(text, ",", ";"), ".", ",")
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("clinic%d.csv", f)), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Each file is one client, given by a list or by a star, and is judged on its own samples. The same files also work
// with -task.
func TestFilesAreClients(t *testing.T) {
	t.Parallel()
	dir := clinics(t)
	file := func(n int) string { return filepath.Join(dir, fmt.Sprintf("clinic%d.csv", n)) }
	star, list := "csv:"+filepath.Join(dir, "clinic*.csv"), "csv:"+strings.Join([]string{file(0), file(1), file(2), file(3)}, ",")
	flags := []string{"simulate", "-label", "ill", "-missing", "indicator", "-rounds", "30", "-non-private"}
	model := filepath.Join(t.TempDir(), "model.json")
	r := outcome(t, with(flags, "-data", star, "-save", model)...)
	if r.Nodes != 4 || r.Dim != 4 || len(r.Files) != 4 || r.Chosen["graph"] != "complete" || r.Mean < 80 {
		t.Fatalf("%+v", r)
	}
	for i, c := range r.Files {
		if n := 40 + 10*i; c.File != file(i) || c.Train+c.Test != n || c.Test != n/5 || *c.Accuracy < *c.Majority {
			t.Errorf("%+v, want %d samples of %s, a fifth of them held back", c, n, file(i))
		}
	}
	if again := outcome(t, with(flags, "-data", list)...); again.Transcript != r.Transcript {
		t.Error("a list of the files is another run than a star")
	}
	if code, text := said(with(flags, "-data", list)...); code != cli.ExitDone || !strings.Contains(text, "on the 14 samples held back in "+file(3)) {
		t.Errorf("exit code %d:\n%s", code, text)
	}
	if code, text := said("evaluate", model, "-data", "csv:"+file(1)); code != cli.ExitDone {
		t.Errorf("the saved model cannot be evaluated: %s", text)
	}

	prepared := filepath.Join(dir, "task.json")
	if code, text := said("fit", "-data", "csv:"+file(2), "-label", "ill", "-missing", "indicator", "-fitted-on", "clinic two",
		"-out", prepared); code != cli.ExitDone {
		t.Fatal(text)
	}
	own := outcome(t, "simulate", "-data", list, "-task", prepared, "-rounds", "30", "-epsilon", "40")
	if own.Dim != r.Dim || own.Transcript == r.Transcript || own.Files[2].Train != 48 {
		t.Errorf("with a task: %+v", own)
	}
	if said := strings.Join(own.Privacy.ConditionalOn, "; "); !strings.Contains(said, "preprocessing fitted on clinic two") ||
		strings.Contains(said, "standardisation") {
		t.Errorf("given as public: %s", said)
	}
	if one := outcome(t, "simulate", "-data", "csv:"+file(3), "-task", prepared, "-nodes", "3", "-graph", "ring", "-rounds", "5"); one.Files != nil ||
		one.Nodes != 3 {
		t.Errorf("one file is dealt out: %+v", one)
	}
}

// A numeric target is also judged file by file.
func TestFilesOfATarget(t *testing.T) {
	t.Parallel()
	data := "csv:" + filepath.Join(clinics(t), "clinic[013].csv")
	r := outcome(t, "simulate", "-data", data, "-target", "z", "-drop", "ill", "-rounds", "5", "-non-private", "-test-fraction", "0.3")
	if len(r.Files) != 3 || r.Files[0].RMSE == nil || r.Files[0].Accuracy != nil || r.Regression == nil {
		t.Errorf("%+v", r)
	}
}

// Errors name the file or the flag.
func TestFilesFaults(t *testing.T) {
	t.Parallel()
	dir := clinics(t)
	odd := filepath.Join(dir, "odd,one.csv")
	if err := os.WriteFile(odd, []byte("x,ill\n1,true\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	all, first := "csv:"+filepath.Join(dir, "clinic*.csv"), "csv:"+filepath.Join(dir, "clinic0.csv")
	for _, c := range []struct{ args, want string }{
		{"-data " + all + " -label ill", "clinic2.csv: line 2"},
		{"-data " + first + ",none.csv -label ill", "none.csv"},
		{"-data " + first + "," + first + " -label ill", "is there twice"},
		{"-data " + first + ", -label ill", "each side of a comma"},
		{"-data csv:" + dir + "/none*.csv -label ill", "no file like"},
		{"-data " + all + " -label ill -nodes 3", "-nodes is 3, but -data has 4 files"},
		{"-data " + all + " -label ill -partition iid", "-partition cannot be combined"},
		{"-data " + first + " -task none.json", "none.json"},
		{"-data " + first + "," + filepath.Join(dir, "clinic1.csv") + " -label ill -drop id", `-drop "id"`},
		{"-data csv:" + odd + " -label ill -nodes 1", `"true"`}, // one file, whose name has a comma
	} {
		if code, text := said(append([]string{"simulate", "-non-private"}, strings.Fields(c.args)...)...); code == cli.ExitDone ||
			!strings.Contains(text, c.want) {
			t.Errorf("%s: exit code %d, want %q in\n%s", c.args, code, c.want, text)
		}
	}
}

// fit reports the columns with missing-value indicators. A flag adds columns that have no missing cells in the data of
// fit.
func TestFitTellsOfGaps(t *testing.T) {
	t.Parallel()
	dir := clinics(t)
	base := []string{"fit", "-data", "csv:" + filepath.Join(dir, "clinic2.csv"), "-label", "ill", "-fitted-on", "clinic two"}
	for missing, want := range map[string]string{
		"indicator": "indicated by a column each: x\n", "indicator:z": "indicated by a column each: x, z\n", "indicator:*": "indicated by a column each: x, z\n",
		"indicator:age": `no column "age"`,
	} {
		file := filepath.Join(t.TempDir(), "task.json")
		if _, text := said(append(base, "-missing", missing, "-out", file)...); !strings.Contains(text, want) {
			t.Errorf("%s: %s, want %q", missing, text, want)
		}
	}
}
