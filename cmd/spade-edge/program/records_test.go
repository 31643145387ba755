package program

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/fleet"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/task"
	"github.com/spade-dfl/spade-edge/zoest"
)

// perRecord makes a fleet of clinics private at record level, with preprocessing from the fleet file.
func perRecord(f *sdk.Fleet) {
	text, _, err := fleet.FitRecipe(task.Spec{Source: "synthetic:clinical", Seed: 5}, task.ModelSpec{Name: task.SoftmaxModel}, "a test")
	if err != nil {
		panic(err)
	}
	f.Task = text
	f.Records = slices.Repeat([]int{3200 / len(f.Members)}, len(f.Members))
	f.Privacy.Unit, f.Privacy.Clip = sdk.UnitRecord, 0.002
	f.Method.Batch, f.Method.Estimator, f.Method.Directions = 0, sdk.EstimatorTracking, zoest.Walsh
}

// givenTask makes the nodes of a trial prepare their data as the fleet file says.
func (tr *trial) givenTask(t *testing.T) {
	t.Helper()
	for _, m := range tr.file.Members {
		text := readFile(t, tr.path(m.Name+".json"))
		for _, kind := range []string{"dirichlet:0.1", "dirichlet:0.3"} {
			text = strings.Replace(text, kind, "iid", 1)
		}
		tr.write(t, m.Name+".json", strings.Replace(text, `"fit": "own", "model": "softmax", `, "", 1))
	}
}

// Eight processes of a record-level private fleet are killed at random moments. The models are those of the
// undisturbed run, bit for bit, with local and with pairwise noise.
func TestKilledNodesOfRecords(t *testing.T) {
	t.Parallel()
	given := func(tr *trial) { tr.givenTask(t) }
	for name, change := range map[string][]func(f *sdk.Fleet){"own noise": {perRecord}, "shared noise": {perRecord, sharing}} {
		if name == "shared noise" && !long {
			continue
		}
		t.Run(name, func(t *testing.T) {
			killed(t, 100, 100*time.Millisecond, []string{seededNoise + "=1"}, given, func(w *supervisor) { w.checkModels(t) },
				change...)
		})
	}
}

// Accuracy at record-level privacy with the program's own settings, as the mean over five seeds; ten for
// Fashion-MNIST, whose runs test on 176 images and differ by two points.
func TestAccuracyForRecords(t *testing.T) {
	t.Parallel()
	needsData(t)
	each := []string{"simulate", "-unit", "record", "-partition", "iid", "-nodes", "10", "-graph", "complete"}
	alzheimers := with(each, "-data", "csv:"+data+"/alzheimers/alzheimers_disease_data.csv", "-label", "Diagnosis",
		"-drop", "PatientID,DoctorInCharge", "-onehot", "Ethnicity,EducationLevel")
	images := func(name string) []string { return with(each, "-data", "idx:"+data+"/"+name, "-pca", "10", "-bias") }
	for _, c := range []struct {
		name string
		want float64
		args []string
	}{
		{"Alzheimer's, epsilon 1", 75.5, with(alzheimers, "-epsilon", "1")},
		{"Alzheimer's, epsilon 2", 79.5, with(alzheimers, "-epsilon", "2")},
		{"Alzheimer's, epsilon 1, shared", 81.5, with(alzheimers, "-epsilon", "1", "-colluders", "1")},
		{"Alzheimer's, epsilon 2, shared", 82.7, with(alzheimers, "-epsilon", "2", "-colluders", "1")},
		{"MNIST, epsilon 1", 98.5, with(images("mnist-6-7"), "-epsilon", "1")},
		{"Fashion-MNIST, epsilon 1, shared", 94, with(images("fashion-0-1"), "-epsilon", "1", "-colluders", "1")},
	} {
		if !long && strings.HasPrefix(c.name, "MNIST") {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			sum, seeds := 0.0, 5
			if strings.HasPrefix(c.name, "Fashion") {
				seeds = 10
			}
			for seed := range seeds {
				r := simulated(t, with(c.args, "-seed", strconv.Itoa(1+seed))...)
				sum += r.Mean / float64(seeds)
				if r.Tau > 64 || r.Privacy == nil || r.Privacy.Unit != sdk.UnitRecord {
					t.Fatalf("%d queries a record and round, privacy %+v", r.Tau, r.Privacy)
				}
			}
			t.Logf("accuracy_mean %.2f", sum)
			if sum < c.want {
				t.Errorf("accuracy_mean is %.2f, want at least %.1f", sum, c.want)
			}
		})
	}
}

// The final model is shrunk if each parameter is the weight of a table's column, but not for principal components or
// an external program's model.
func TestShrinkIsForTables(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		chosen bool
		args   []string
	}{
		"table":      {true, []string{"-data", "synthetic:clinical", "-deal"}},
		"components": {false, []string{"-data", "synthetic:clinical", "-deal", "-pca", "3"}},
		"program":    {false, []string{"-stream", "./scorer", "-dim", "12", "-records", "50,50,50"}},
		"given":      {true, []string{"-stream", "./scorer", "-dim", "12", "-records", "50,50,50", "-shrink", "0.5"}},
		"refused":    {false, []string{"-data", "synthetic:clinical", "-deal", "-shrink", "0"}},
	} {
		dir := filepath.Join(t.TempDir(), "made")
		code, text := said(append([]string{"init", dir, "-n", "3", "-graph", "complete", "-unit", "record", "-epsilon", "1"}, c.args...)...)
		if code != cli.ExitDone {
			t.Errorf("%s: %s", name, text)
			continue
		}
		if has := strings.Contains(readFile(t, filepath.Join(dir, "fleet.json")), `"shrink": 0.5`); has != c.chosen {
			t.Errorf("%s: the fleet file has shrink: %v, want %v", name, has, c.chosen)
		}
	}
}

// Four hospitals, each judged on its own patients, with and without noise.
func TestAccuracyForPatients(t *testing.T) {
	t.Parallel()
	needsData(t)
	dir := t.TempDir()
	recipe := filepath.Join(dir, "task.json")
	if code, text := said("fit", "-data", "csv:../../../examples/hospital/agreed.csv", "-label", "ill", "-onehot", "cp,restecg,slope,thal",
		"-missing", "indicator", "-test-fraction", "0", "-fitted-on", "usual values", "-out", recipe); code != cli.ExitDone {
		t.Fatal(text)
	}
	var files []string
	for _, name := range []string{"cleveland", "hungarian", "switzerland", "va"} {
		text, err := os.ReadFile(filepath.Join(data, "heart-four-hospitals", name+".csv"))
		if err != nil {
			t.Skip(err)
		}
		files = append(files, filepath.Join(dir, name+".csv"))
		if err := os.WriteFile(files[len(files)-1], []byte(tidy(string(text))), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	mean := func(args ...string) (sum float64) {
		for _, seed := range []string{"1", "2", "3", "4", "5"} {
			r := simulated(t, with([]string{"simulate", "-task", recipe, "-data", "csv:" + strings.Join(files, ","), "-test-fraction",
				"0.25", "-graph", "complete", "-seed", seed}, args...)...)
			for _, f := range r.Files {
				sum += *f.Accuracy / float64(5*len(files))
			}
		}
		return sum
	}
	open, one, four := mean("-non-private"), mean("-unit", "record", "-epsilon", "1"), mean("-unit", "record", "-epsilon", "4")
	t.Logf("without noise %.2f, at epsilon 1 %.2f, at 4 %.2f", open, one, four)
	if open < 83 || one < open-4.5 || four < open-1.5 {
		t.Errorf("without noise %.2f, at epsilon 1 %.2f and at 4 %.2f: want at least 83, and at most 4.5 and 1.5 less", open, one, four)
	}
}

// tidy converts a file of heart patients as hospitals.sh does: the diagnosis becomes yes or no, and a cholesterol or
// blood pressure of 0 becomes a missing value.
func tidy(text string) string {
	lines := strings.Split(strings.TrimSpace(strings.ReplaceAll(text, "\r", "")), "\n")
	names := strings.Split(lines[0], ",")
	ill := slices.Index(names, "num")
	for i, line := range lines {
		cells := strings.Split(line, ",")
		if i == 0 {
			cells[ill] = "ill"
		} else {
			for _, name := range []string{"chol", "trestbps"} {
				if at := slices.Index(names, name); cells[at] == "0" {
					cells[at] = ""
				}
			}
			cells[ill] = map[bool]string{true: "no", false: "yes"}[cells[ill] == "0"]
		}
		lines[i] = strings.Join(cells, ",")
	}
	return strings.Join(lines, "\n") + "\n"
}

// With several rows per person, the guarantee is for each person, in a simulation and in a fleet.
func TestPersons(t *testing.T) {
	dir := t.TempDir()
	var text strings.Builder
	text.WriteString("who,age,ill\n")
	for i := range 240 {
		fmt.Fprintf(&text, "p%d,%d,%s\n", i%100, 40+i%100+i/100, map[bool]string{true: "no", false: "yes"}[i%100 < 50])
	}
	file := filepath.Join(dir, "visits.csv")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	source := []string{"-data", "csv:" + file, "-label", "ill"}
	args := append([]string{"simulate", "-nodes", "2", "-graph", "complete", "-person", "who", "-unit", "record", "-epsilon", "4"}, source...)
	code, out, log := call(args...)
	if code != cli.ExitDone {
		t.Fatal(log)
	}
	for _, want := range []string{"epsilon 4.00 against everybody else together, at delta 1e-05 for each person", `a record is a person: all rows with one value of "who", of which the first 3 count`} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	trial := filepath.Join(dir, "trial")
	if code, text := said(append([]string{"init", trial, "-n", "2", "-unit", "record", "-epsilon", "4", "-person", "who"}, source...)...); code != cli.ExitDone {
		t.Fatal(text)
	}
	if code, text := said("check", filepath.Join(trial, "node-0", "node.json")); code != cli.ExitDone || !strings.Contains(text, "for each person") ||
		!strings.Contains(text, "120 samples") { // 40 persons learn at each node, with 3 places
		t.Errorf("exit code %d:\n%s", code, text)
	}
	missing := append([]string{"simulate", "-unit", "record", "-person", "patient"}, source...)
	if code, text := said(missing...); code != cli.ExitFailed || strings.Count(text, `-person "patient": `+file+" has no such column") != 1 {
		t.Errorf("exit code %d: %s", code, text)
	}
	wrongUse(t, dir, []mistake{
		{cli.ExitUsage, "-person without -unit record", append([]string{"simulate", "-person", "who"}, source...)},
		{cli.ExitUsage, "-places without -unit record", []string{"simulate", "-places", "3"}},
		{cli.ExitUsage, "-places without -person", []string{"simulate", "-unit", "record", "-places", "3"}},
		{cli.ExitUsage, `-person "who": only for data csv:FILE`, []string{"simulate", "-unit", "record", "-person", "who"}},
	})
}

// A record-level private fleet adds a member and removes one. Clip and noise follow the mean number of records, so
// that epsilon and the clipping of a record's slope stay the same.
func TestFleetOfRecordsChanges(t *testing.T) {
	t.Parallel()
	for _, more := range [][]string{nil, {"-graph", "complete", "-colluders", "1"}} {
		dir, line := plant(t, append([]string{"-unit", "record", "-epsilon", "1", "-data", "synthetic:clinical"}, more...)...)
		path := filepath.Join(dir, "fleet.json")
		read := func() *sdk.Fleet {
			t.Helper()
			file, err := fleetfile.Read(path)
			if err != nil {
				t.Fatal(err)
			}
			return file.Fleet
		}
		before := read()
		add := []string{"fleet", "add", dir, "-line", line, "-edges", "a,b", "-run", "second"}
		for want, args := range map[string][]string{
			`-records is missing: how many records "d" has`: add,
			"-records is -3, want at least 1":               with(add, "-records", "-3"),
		} {
			if code, text := said(args...); code != cli.ExitUsage || !strings.Contains(text, want) {
				t.Errorf("exit code %d: %s, want %q", code, text, want)
			}
		}
		if code, text := said(with(add, "-records", "267")...); code != cli.ExitDone {
			t.Fatal(text)
		}
		check := func(want []int, ratio float64) {
			t.Helper()
			f := read()
			epsilon := func(f *sdk.Fleet) float64 { return f.Privacy.Accounting.Epsilon(f.Rho(), f.Privacy.Delta) }
			if !slices.Equal(f.Records, want) || math.Abs(f.Privacy.Clip/before.Privacy.Clip-ratio) > 1e-9 {
				t.Errorf("records %v and clip %v, want %v and %v of %v", f.Records, f.Privacy.Clip, want, ratio, before.Privacy.Clip)
			}
			if now := epsilon(f); more == nil && (now > 1 || now < 0.9999) {
				t.Errorf("epsilon is %v, want that of before, %v", now, epsilon(before))
			}
		}
		check([]int{1066, 1067, 1067, 267}, 3200.0/3/866.75)
		if code, text := said("fleet", "remove", dir, "-name", "d", "-run", "third"); code != cli.ExitDone {
			t.Fatal(text)
		}
		check([]int{1066, 1067, 1067}, 1)
	}
	dir, line := plant(t)
	if code, text := said("fleet", "add", dir, "-line", line, "-edges", "a", "-run", "x", "-records", "5"); code != cli.ExitUsage ||
		!strings.Contains(text, "-records is 5, but the fleet protects each client's") {
		t.Errorf("exit code %d: %s", code, text)
	}
}

// Settings that conflict with record-level privacy give one error that says so.
func TestWrongRecords(t *testing.T) {
	dir := t.TempDir()
	each := func(more ...string) []string {
		return append([]string{"simulate", "-unit", "record", "-nodes", "3"}, more...)
	}
	wrongUse(t, dir, []mistake{
		{cli.ExitUsage, "-table seeded with -unit record", each("-table", "seeded")},
		{cli.ExitUsage, "-batch is 5, want 0, as privacy.unit is record", each("-batch", "5")},
		{cli.ExitUsage, "-momentum is 0.5, want 0, as privacy.unit is record", each("-momentum", "0.5")},
		{cli.ExitUsage, "want client or record", each("-unit", "person")},
		{cli.ExitUsage, "-unit record without -task", []string{"init", "x", "-n", "2", "-deal=false", "-data", "synthetic:clinical", "-dim", "6",
			"-unit", "record", "-samples", "100"}},
	})
	trial := filepath.Join(dir, "trial")
	if code, text := said("init", trial, "-n", "2", "-unit", "record", "-epsilon", "1"); code != cli.ExitDone {
		t.Fatal(text)
	}
	path := filepath.Join(trial, "node-0", "node.json")
	good := readFile(t, path)
	for want, change := range map[string][2]string{
		`oracle.builtin.fit is "own", want it left out`: {`"builtin": {`, `"builtin": {"fit": "own", "model": "softmax",`},
		`want 1600, the records of "node-0"`:            {`"of": 2`, `"of": 3`},
		"its rows cannot be computed again":             {`"state"`, `"table": "seeded", "state"`},
	} {
		writeFile(t, filepath.Dir(path), "node.json", strings.Replace(good, change[0], change[1], 1))
		if code, text := said("check", path); code == cli.ExitDone || strings.Count(text, want) != 1 {
			t.Errorf("exit code %d, want %q once in\n%s", code, want, text)
		}
	}
	writeFile(t, filepath.Dir(path), "node.json", good)
	ledger := filepath.Join(trial, "node-0", "ledger.json")
	for _, old := range []string{ledger, ledger + ".mark"} {
		if err := os.RemoveAll(old); err != nil {
			t.Fatal(err)
		}
	}
	if code, text := said("privacy", "-new-ledger", ledger, "-dataset", "x", "-epsilon", "9"); code != cli.ExitDone {
		t.Fatal(text)
	}
	if code, text := said("check", path); code != cli.ExitRefused || strings.Count(text, "want a limit for each record") != 1 {
		t.Errorf("exit code %d:\n%s", code, text)
	}
}
