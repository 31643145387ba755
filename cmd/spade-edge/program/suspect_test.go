package program

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/fleet"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/node"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/task"
)

// ward writes patients with an illness that glucose and age predict. Every tenth glucose is gap, unless gap is empty.
func ward(rows int, seed uint64, gap string) string {
	g := rand.New(rand.NewPCG(seed, 1))
	text := "id,glucose,age,sex,ill\n"
	for i := range rows {
		z := g.NormFloat64()
		glucose := fmt.Sprintf("%.1f", 6+z)
		if gap != "" && i%10 == 4 {
			glucose = gap
		}
		ill := "no"
		if z+0.5*g.NormFloat64() > 0 {
			ill = "yes"
		}
		text += fmt.Sprintf("p%d,%s,%.0f,%c,%s\n", i, glucose, 60+10*g.NormFloat64(), "mf"[i%2], ill)
	}
	return text
}

// check tells a hospital that writes -9 for missing values, with the fix. A private node starts anyway, and neither
// sends nor logs the finding.
func TestCheckLooksAtData(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	spec := task.Spec{Label: "ill", OneHot: []string{"sex"}, Drop: []string{"id"}, Missing: "indicator:*", Whole: true}
	spec.Source = "csv:" + writeFile(t, dir, "public.csv", ward(200, 1, ""))
	text, recipe, err := fleet.FitRecipe(spec, task.ModelSpec{Name: task.SoftmaxModel}, "patients of nobody")
	if err != nil {
		t.Fatal(err)
	}
	tr := newTrial(t, "a ", func(f *sdk.Fleet) {
		f.Members, f.Edges, f.Records, f.Method.Estimator, f.Method.Batch = []string{"a"}, nil, []int{100}, sdk.EstimatorPaper, 0
		f.Privacy = sdk.Privacy{Unit: sdk.UnitRecord, Clip: 0.2, Sigma: 1, Delta: 1e-5}
		f.Dim, f.X0, f.Task = recipe.Dim(), make([]float32, recipe.Dim()), text
	})
	tr.byTask(t)
	tr.edit(t, "a.json", `"seed": 5,
			"share": {"partition": "dirichlet:0.3", "of": 1, "number": 0}`, `"test_fraction": 0`)
	tr.edit(t, "a.json", "synthetic:clinical", "csv:own.csv")
	look := func(csv string) *node.Checkup {
		t.Helper()
		tr.write(t, "own.csv", csv)
		got := &node.Checkup{}
		into(t, got, cli.ExitDone, "check", tr.path("a.json"))
		if !got.OK || got.Data == nil || got.Data.Rows != 100 {
			t.Fatalf("%+v", got)
		}
		return got
	}
	clean := ward(100, 2, "")
	if got := look(clean); len(got.Data.Suspicions) > 0 || !strings.Contains(checkupText(got, "labels"), "better than all but 0 of 499") {
		t.Errorf("%+v", got)
	}
	marked := ward(100, 2, "-9")
	const cure = `10 of 100 values are -9, far from all others`
	if got := checkupText(look(marked), `column "glucose"`); !strings.Contains(got, cure) || !strings.Contains(got, `"na": ["-9"] in the node file's oracle`) {
		t.Errorf("%s", got)
	}
	code, out, log := call("check", tr.path("a.json"))
	for _, want := range []string{"warn  column \"glucose\" ", cure, "\ncolumn  ", "\nglucose  ", "f (50), m (50)", `50 "no"`} {
		if want == `50 "no"` {
			want = fmt.Sprintf("%d %q", strings.Count(marked, ",no\n"), "no")
		}
		if code != cli.ExitDone || log != "" || !strings.Contains(out, want) {
			t.Errorf("exit code %d, want %q in\n%s%s", code, want, out, log)
		}
	}
	if code, out, log := call("run", tr.path("a.json")); code != cli.ExitDone || strings.Contains(out+log, "glucose") ||
		strings.Contains(out+log, "suspicious") {
		t.Errorf("exit code %d\n%s%s", code, out, log)
	}
	tr.edit(t, "a.json", `"test_fraction"`, `"na": ["-9"], "test_fraction"`)
	got := look(marked)
	if glucose := got.Data.Columns[0]; len(got.Data.Suspicions) > 0 || glucose.Missing != 10 {
		t.Errorf("%+v", got.Data)
	}
	if all := look(strings.ReplaceAll(clean, ",f,", ",divers,")).Data.Suspicions; len(all) != 2 || all[0].Kind != "constant" ||
		all[1].Kind != "unknown" || all[1].Count != 50 {
		t.Errorf("%+v", all)
	}
	rows := strings.Split(strings.TrimSuffix(clean, "\n"), "\n")
	for i := 1; i < 100; i++ { // give each row the label of the row 37 below
		j := (i+36)%100 + 1
		rows[i] = rows[i][:strings.LastIndex(rows[i], ",")] + rows[j][strings.LastIndex(rows[j], ","):]
	}
	if all := look(strings.Join(rows, "\n") + "\n").Data.Suspicions; len(all) != 1 || all[0].Kind != "labels" {
		t.Errorf("%+v", all)
	}
}

// simulate compares the files of several clients; fit inspects its one file. -na fixes both.
func TestSimulateAndFitLookAtData(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i, gap := range []string{"", "999", "", ""} {
		writeFile(t, dir, fmt.Sprintf("clinic%d.csv", i), ward(60, uint64(i), gap))
	}
	star := "csv:" + filepath.Join(dir, "clinic*.csv")
	flags := []string{"-label", "ill", "-drop", "id", "-onehot", "sex", "-missing", "mean"}
	sim := append([]string{"simulate", "-data", star, "-rounds", "2", "-non-private"}, flags...)
	fit := append([]string{"fit", "-data", "csv:" + filepath.Join(dir, "clinic1.csv"), "-fitted-on", "x"}, flags...)
	const want = `suspicious: clinic1.csv, column "glucose": 6 of 60 values are 999, far from all others`
	for _, args := range [][]string{sim, fit} {
		code, _, log := call(args...)
		if code != cli.ExitDone || !strings.Contains(log, want) || strings.Count(log, "suspicious") != 1 || !strings.Contains(log, "-na 999 reads it as one") {
			t.Errorf("%s: exit code %d\n%s", args[0], code, log)
		}
		code, out, log := call(append(args, "-na", "-9,999")...)
		if code != cli.ExitDone || strings.Contains(log, "suspicious") {
			t.Errorf("%s: exit code %d\n%s%s", args[0], code, out, log)
		}
	}
	code, _, log := call("fit", "-data", "csv:"+filepath.Join(dir, "clinic1.csv"), "-fitted-on", "x", "-label", "ill", "-drop", "id,sex", "-na", "999")
	if code != cli.ExitFailed || !strings.Contains(log, `column "glucose": "999" stands for a missing value, and no rule`) {
		t.Errorf("exit code %d\n%s", code, log)
	}
	if code, _, log := call("simulate", "-na", "9", "-rounds", "2"); code != cli.ExitUsage || !strings.Contains(log, `-na ["9"]: only for data csv`) {
		t.Errorf("exit code %d\n%s", code, log)
	}
}
