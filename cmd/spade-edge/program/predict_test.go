package program

import (
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/node"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/builtin"
	"github.com/spade-dfl/spade-edge/sdk/task"
)

// The model file that a node exports gives the same scores as the end of the run.
func TestPredictAndEvaluate(t *testing.T) {
	t.Parallel()
	text, recipe := public(t, task.ModelSpec{Name: task.PerceptronModel, Hidden: 3}, 77)
	tr := newTrial(t, "a ", func(f *sdk.Fleet) {
		f.Members, f.Edges = []string{"a"}, nil
		f.Privacy = sdk.Privacy{Clip: 0.2, Sigma: 1, Delta: 1e-5}
		f.Dim, f.X0, f.Task = recipe.Dim(), recipe.Start(3), text
	})
	tr.byTask(t)
	file, model := tr.path("a.json"), tr.path("model.json")
	var r node.RunResult
	into(t, &r, cli.ExitDone, "run", file)
	if r.Local == nil || r.Local.Majority < 50 || r.Local.Majority > 60 {
		t.Errorf("local %+v", r.Local)
	}
	var e node.Exported
	into(t, &e, cli.ExitDone, "export", file, "-out", model)
	if !e.Predicts || e.Model != r.Model || e.Certificate == "" {
		t.Errorf("exported %+v", e)
	}

	var said node.Predictions
	into(t, &said, cli.ExitDone, "predict", model, "-data", "synthetic:clinical", "-seed", "9")
	if said.Model != r.Model || len(said.Rows) != 4000 || len(said.Columns) != 5 || len(said.Rows[7].Contribution) != 5 || !said.Done {
		t.Errorf("%d rows, columns %q", len(said.Rows), said.Columns)
	}
	code, out, log := call("predict", "-data", "synthetic:clinical", model, "-seed", "9", "-csv")
	lines, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	if code != cli.ExitDone || log != "" || err != nil || len(lines) != 4001 || strings.Join(lines[0][:5], ",") != "row,class,p_no,p_yes,by_age_years" {
		t.Fatalf("exit code %d, %d lines, %v\n%.300s%s", code, len(lines), err, out, log)
	}
	for i, row := range said.Rows {
		line := lines[i+1]
		p, _ := strconv.ParseFloat(line[3], 64)
		if line[0] != strconv.Itoa(i+1) || row.Row != i+1 || line[1] != row.Class || line[3] != fmt.Sprintf("%.4g", row.Probability[1]) || math.Abs(p-0.5) > 1e-4 && (row.Class == "yes") != (p > 0.5) {
			t.Fatalf("line %q, row %+v", line, row)
		}
	}
	var judged node.Evaluation
	into(t, &judged, cli.ExitDone, "evaluate", model, "-data", "synthetic:clinical", "-seed", "9")
	m := judged.Classification
	right := 0
	patients := task.Clinical(4000, 9)
	for i, row := range said.Rows {
		if row.Class == patients.ClassNames[patients.Y[i]] {
			right++
		}
	}
	if m == nil || m.Samples != 4000 || m.Accuracy.Value != float64(right)/4000 || m.Binary == nil || m.Binary.AUC == nil || judged.Regression != nil {
		t.Errorf("metrics %+v, %d are right", m, right)
	}
	code, out, log = call("evaluate", model, "-data", "synthetic:clinical", "-seed", "9")
	want := fmt.Sprintf("%.2f %% [", 100*m.Accuracy.Value)
	for _, part := range []string{want, "most frequent class: ", "sensitivity    ", "AUC            ", "is \\ said", "p of yes", "of 4000 samples"} {
		if !strings.Contains(out, part) {
			t.Errorf("exit code %d, no %q in\n%s%s", code, part, out, log)
		}
	}
}

// Errors for every defect of a CSV file, and for models that cannot be applied.
func TestPredictFaults(t *testing.T) {
	t.Parallel()
	dir := newTrial(t, "a ", func(f *sdk.Fleet) { f.Members, f.Edges = []string{"a"}, nil })
	data := "age,ward,outcome\n"
	number := "age,ward,days\n"
	for i := range 60 {
		data += fmt.Sprintf("%d,%c,%s\n", 30+i, 'x'+i%3, []string{"no", "yes"}[i*i/7%2])
		number += fmt.Sprintf("%d,%c,%v\n", 30+i, 'x'+i%3, 3*i)
	}
	file := func(name string, s task.Spec, m task.ModelSpec, text string) string {
		s.Source, s.OneHot = "csv:"+dir.put(t, name+".csv", text), []string{"ward"}
		r, err := task.Fit(s, m, "patients of nobody")
		if err != nil {
			t.Fatal(err)
		}
		x := make([]float32, r.Dim())
		for j := range x {
			x[j] = float32(j) / 8
		}
		b, err := (&builtin.Model{Run: "r", Member: "a", Round: 3, Rounds: 5, Task: r, Weights: x}).Marshal()
		if err != nil {
			t.Fatal(err)
		}
		return dir.put(t, name+".json", string(b))
	}
	classes := file("classes", task.Spec{Label: "outcome"}, task.ModelSpec{Name: task.SoftmaxModel}, data)
	numbers := file("numbers", task.Spec{Target: "days"}, task.ModelSpec{Name: task.LinearModel}, number)
	csvOf := func(name, text string) string { return "csv:" + dir.put(t, name, text) }
	good := csvOf("good.csv", "ward;age;weight\nx;61;1\nz;70;2\n")
	stranger := csvOf("stranger.csv", "ward,age,outcome\nq,61,no\nx,62,yes\n")

	code, out, log := call("predict", classes, "-data", good)
	if code != cli.ExitDone || strings.Count(out, "\n") != 3 || !strings.Contains(log, "release 3 of 5: its run was not finished") {
		t.Errorf("exit code %d\n%s%s", code, out, log)
	}
	code, out, log = call("predict", classes, "-data", stranger, "-unknown")
	if code != cli.ExitDone || strings.Count(out, "\n") != 3 || !strings.Contains(log, `"ward=q"`) {
		t.Errorf("exit code %d\n%s%s", code, out, log)
	}
	var judged node.Evaluation
	into(t, &judged, cli.ExitDone, "evaluate", classes, "-data", stranger, "-unknown")
	if judged.Classification.Samples != 2 || len(judged.Unknown) != 1 {
		t.Errorf("%+v", judged)
	}
	var said node.Predictions
	into(t, &said, cli.ExitDone, "predict", numbers, "-data", good)
	if said.Target != "days" || len(said.Rows) != 2 || said.Rows[0].Number == nil || math.IsNaN(*said.Rows[1].Number) || said.Rows[0].Class != "" {
		t.Errorf("%+v", said)
	}
	judged = node.Evaluation{}
	into(t, &judged, cli.ExitDone, "evaluate", numbers, "-data", "csv:"+dir.path("numbers.csv"))
	code, out, log = call("evaluate", numbers, "-data", "csv:"+dir.path("numbers.csv"))
	if judged.Regression == nil || judged.Regression.Samples != 60 || judged.Classification != nil ||
		code != cli.ExitDone || !strings.Contains(out, "RMSE") || !strings.Contains(out, "always saying the mean: ") {
		t.Errorf("exit code %d, %+v\n%s%s", code, judged.Regression, out, log)
	}

	program := builtin.Model{Run: "pumps", Member: "a", Round: 1, Rounds: 1, NoTask: builtin.Program, Weights: []float32{1}}
	b, err := program.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	foreign := dir.put(t, "program.json", string(b))
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{cli.ExitUsage, "no file given", []string{"-data", good}},
		{cli.ExitUsage, "-data is missing", []string{classes}},
		{cli.ExitUsage, "has only numbers", []string{dir.path("x.npy"), "-data", good}},
		{cli.ExitUsage, "no such file", []string{dir.path("none.json"), "-data", good}},
		{cli.ExitUsage, "run is \"\"", []string{dir.put(t, "odd.json", `{"version": 1}`), "-data", good}},
		{cli.ExitFailed, `run "pumps" came from a program`, []string{foreign, "-data", good}},
		{cli.ExitFailed, `-data "idx:x", want data from csv`, []string{classes, "-data", "idx:x"}},
		{cli.ExitFailed, `has no column "ward"`, []string{classes, "-data", csvOf("less.csv", "age\n1\n")}},
		{cli.ExitFailed, `"q" is none of its categories, which are "x", "y", "z"`, []string{classes, "-data", stranger}},
		{cli.ExitFailed, "no such file", []string{classes, "-data", "csv:" + dir.path("none.csv")}},
	} {
		for _, command := range []string{"predict", "evaluate"} {
			code, out, log := call(append([]string{command}, c.args...)...)
			if code != c.code || !strings.Contains(log, c.want) || out != "" {
				t.Errorf("%s %q: exit code %d, want %d with %q\n%s%s", command, c.args, code, c.code, c.want, out, log)
			}
		}
	}
	if code, out, log := call("evaluate", classes, "-data", good); code != cli.ExitFailed || !strings.Contains(log, `no column "outcome"`) {
		t.Errorf("without labels: exit code %d\n%s%s", code, out, log)
	}
}

// A model file has preprocessing fitted on a node's own data only on request, and then it predicts.
func TestExportOwnFit(t *testing.T) {
	t.Parallel()
	tr := newTrial(t, "a ", func(f *sdk.Fleet) { f.Members, f.Edges = []string{"a"}, nil })
	file := tr.path("a.json")
	var r node.RunResult
	into(t, &r, cli.ExitDone, "run", file)
	var e node.Exported
	into(t, &e, cli.ExitDone, "export", file, "-out", tr.path("bare.json"))
	if text := readFile(t, tr.path("bare.json")); e.Predicts || !strings.Contains(text, `"no_task": "own fit"`) || strings.Contains(text, "mean") {
		t.Errorf("%+v\n%s", e, text)
	}
	if code, _, log := call("predict", tr.path("bare.json"), "-data", "synthetic:clinical"); code != cli.ExitFailed || !strings.Contains(log, `"fit": "own"`) {
		t.Errorf("exit code %d: %s", code, log)
	}
	into(t, &e, cli.ExitDone, "export", file, "-out", tr.path("full.json"), "-own-fit")
	var judged node.Evaluation
	into(t, &judged, cli.ExitDone, "evaluate", tr.path("full.json"), "-data", "synthetic:clinical")
	if !e.Predicts || !judged.NonPrivate || judged.Classification.Samples != 4000 {
		t.Errorf("%+v, %+v", e, judged)
	}
	if code, _, log := call("export", file, "-out", tr.path("x.npy"), "-own-fit"); code != cli.ExitUsage || !strings.Contains(log, "-own-fit") {
		t.Errorf("exit code %d: %s", code, log)
	}
	if _, err := os.Stat(tr.path("x.npy")); err == nil {
		t.Error("a file was written")
	}
}

func (tr *trial) put(t *testing.T, name, text string) string {
	t.Helper()
	tr.write(t, name, text)
	return tr.path(name)
}

// Text output has four digits, each row's id, and the columns that contributed most, and names numbers far outside the
// known range. A site's own threshold is only in its copy of the model, and decides the class.
func TestPredictForPeople(t *testing.T) {
	t.Parallel()
	dir := &trial{dir: t.TempDir()}
	s := task.Spec{Source: "csv:" + dir.put(t, "public.csv", ward(200, 1, "")), Label: "ill", Drop: []string{"id"}, OneHot: []string{"sex"},
		Missing: "mean"}
	r, err := task.Fit(s, task.ModelSpec{Name: task.SoftmaxModel}, "patients of nobody")
	if err != nil {
		t.Fatal(err)
	}
	text, err := (&builtin.Model{Run: "r", Member: "a", Round: 5, Rounds: 5, Task: r, Weights: []float32{2, 0.25, 0, 0.125, 0.5}}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	model, site := dir.put(t, "model.json", string(text)), dir.path("site.json")
	own := "csv:" + dir.put(t, "own.csv", ward(100, 2, ""))
	few := "csv:" + dir.put(t, "few.csv", "PatientID,age,glucose,sex\nx-1,60,6.1,m\nx-2,61,60,f\nx-3,-9,5.9,f\n")
	code, out, log := call("predict", model, "-data", few, "-na", "-9")
	for _, want := range []string{"   row  id              class              p of yes  contributed most\n", "     1  x-1             yes        ",
		" %  glucose +", `out of range: column "glucose": 1 of 3 far from what the model was fitted for, `, ", such as 60 in row 2"} {
		if code != cli.ExitDone || !strings.Contains(out+log, want) || strings.Contains(log, "age") {
			t.Errorf("exit code %d, no %q in\n%s%s", code, want, out, log)
		}
	}
	code, out, _ = call("predict", model, "-data", few, "-csv")
	if lines := strings.Split(out, "\n"); code != cli.ExitDone || len(lines) != 5 || !strings.HasPrefix(lines[0], "row,id,class,p_no,p_yes,by_glucose,") ||
		!strings.HasPrefix(lines[1], "1,x-1,yes,0.") || len(strings.Split(lines[1], ",")[4]) > len("0.1234") {
		t.Errorf("exit code %d\n%s", code, out)
	}

	var before, judged, after node.Evaluation
	into(t, &before, cli.ExitDone, "evaluate", model, "-data", own)
	into(t, &judged, cli.ExitDone, "evaluate", model, "-data", own, "-threshold", "sensitivity:0.97", "-out", site)
	into(t, &after, cli.ExitDone, "evaluate", site, "-data", own)
	b, m := before.Classification.Binary, judged.Classification.Binary
	if th := judged.Threshold; th == nil || th.Samples != 100 || m.Sensitivity.Value < 0.97 || b.Sensitivity.Value >= 0.97 || *after.Threshold != *th ||
		after.Classification.Accuracy != judged.Classification.Accuracy || before.Threshold != nil || m.AUC.Value != b.AUC.Value {
		t.Errorf("%+v, %+v; before %+v", judged.Threshold, m, b)
	}
	var said node.Predictions
	into(t, &said, cli.ExitDone, "predict", site, "-data", own)
	for _, row := range said.Rows {
		if row.ID != fmt.Sprintf("p%d", row.Row-1) || (row.Class == "yes") != (row.Probability[1] >= judged.Threshold.Value) {
			t.Fatalf("%+v", row)
		}
	}
	var youden node.Evaluation
	into(t, &youden, cli.ExitDone, "evaluate", model, "-data", own, "-threshold", "youden")
	best, lines := 0.0, strings.Split(ward(100, 2, ""), "\n")
	for _, row := range said.Rows { // each probability as a threshold
		var hits, all [2]float64
		for i, other := range said.Rows {
			ill := strings.HasSuffix(lines[i+1], ",yes")
			is := map[bool]int{true: 1}[ill]
			all[is]++
			if (other.Probability[1] >= row.Probability[1]) == ill {
				hits[is]++
			}
		}
		best = max(best, hits[0]/all[0]+hits[1]/all[1])
	}
	y := youden.Classification.Binary
	if got := y.Sensitivity.Value + y.Specificity.Value; math.Abs(got-best) > 1e-9 {
		t.Errorf("%v, the best is %v", got, best)
	}
	for want, args := range map[string][]string{
		`-threshold "half", want youden, sensitivity:S`: {"-threshold", "half"},
		`-threshold "sensitivity:2"`:                    {"-threshold", "sensitivity:2"},
		"-out needs -threshold":                         {"-out", dir.path("x.json")},
		"already exists":                                {"-threshold", "0.3", "-out", site},
	} {
		if code, out, log := call(append([]string{"evaluate", model, "-data", own}, args...)...); code != cli.ExitUsage || !strings.Contains(log, want) {
			t.Errorf("%q: exit code %d\n%s%s", args, code, out, log)
		}
	}
	if code, _, log := call("predict", model, "-data", few, "-csv", "-json"); code != cli.ExitUsage || !strings.Contains(log, "cannot be combined") {
		t.Errorf("exit code %d\n%s", code, log)
	}
}

// The file of a personal model says so, has mode 0600, cannot start a fleet, and has no certificate. export reports
// which of three models is best here, and changes neither state nor ledger.
func TestExportPersonal(t *testing.T) {
	t.Parallel()
	text, recipe := public(t, task.ModelSpec{Name: task.SoftmaxModel}, 77)
	tr := newTrial(t, "a ", func(f *sdk.Fleet) {
		f.Members, f.Edges = []string{"a"}, nil
		f.Privacy = sdk.Privacy{Clip: 0.2, Sigma: 1, Delta: 1e-5}
		f.Dim, f.X0, f.Task = recipe.Dim(), make([]float32, recipe.Dim()), text
	})
	tr.byTask(t)
	file, out := tr.path("a.json"), tr.path("personal.json")
	var r node.RunResult
	into(t, &r, cli.ExitDone, "run", file)
	before := readFile(t, tr.path("a.ledger"))
	var e node.Exported
	into(t, &e, cli.ExitDone, "export", file, "-out", out, "-personal")
	c := e.Compared
	if c == nil || e.Certificate != "" || !e.Predicts || e.Model == r.Model || c.Records != 3200 || c.Best == "shared" || c.Models[2].Rounds == 0 ||
		c.Models[0].Classification.Samples != 400 || math.Abs(100*c.Models[0].Classification.Accuracy.Value-r.Local.Accuracy) > 5 ||
		c.Models[2].Loss > c.Models[0].Loss {
		t.Errorf("%+v, %+v, run %+v", e, c, r.Local)
	}
	info, err := os.Stat(out)
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 || !strings.Contains(readFile(t, out), `"personal": true`) {
		t.Errorf("%v, %v", info, err)
	}
	if _, err := os.Stat(out + ".certificate.json"); err == nil || readFile(t, tr.path("a.ledger")) != before {
		t.Error("a certificate, or a charge")
	}
	code, said, log := call("export", file, "-out", tr.path("again.json"), "-personal", "-data", "synthetic:clinical")
	for _, want := range []string{"must stay on this device", "\nshared          0 ", "\nown ", "\npersonal  ", "best here, on samples that were not used to train or choose"} {
		if code != cli.ExitDone || !strings.Contains(said, want) {
			t.Errorf("exit code %d, no %q in\n%s%s", code, want, said, log)
		}
	}
	var judged node.Evaluation
	into(t, &judged, cli.ExitDone, "evaluate", out, "-data", "synthetic:clinical")
	if !judged.Personal {
		t.Error("a personal model is taken for another")
	}
	tr.edit(t, "a.json", `"seed": 5`, `"seed": 5, "test_fraction": 0`)
	for want, args := range map[string][]string{
		"holds back no samples":            {"export", file, "-out", tr.path("x.json"), "-personal"},
		"-personal needs a .json file":     {"export", file, "-out", tr.path("x.npy"), "-personal"},
		"-data needs -personal":            {"export", file, "-out", tr.path("x.json"), "-data", "csv:x"},
		"would reveal them":                {"init", tr.path("new"), "-n", "2", "-x0", out},
		`want data from synthetic, as the`: {"export", file, "-out", tr.path("x.json"), "-personal", "-data", "csv:x"},
	} {
		if code, said, log := call(args...); code == cli.ExitDone || !strings.Contains(log, want) {
			t.Errorf("%q: exit code %d, want %q\n%s%s", args, code, want, said, log)
		}
	}
	if _, err := os.Stat(tr.path("x.json")); err == nil {
		t.Error("a file was written")
	}
}
