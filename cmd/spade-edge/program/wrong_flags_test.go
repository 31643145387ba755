package program

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Wrong use: the exit code, one clear message that names what is wrong, and nothing on standard output.
func TestWrongSimulation(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string { return writeFile(t, dir, name, text) }
	csv := write("a.csv", "x,y,label\n1,2,a\n3,?,b\n5,6,a\n")
	tiny := write("tiny.csv", "x,label\n"+strings.Repeat("1,a\n2,b\n", 5))
	apart := write("apart.txt", "0 1\n2 3\n")
	idx := filepath.Join(dir, "idx")
	if err := os.Mkdir(idx, 0o700); err != nil {
		t.Fatal(err)
	}
	writeIDX(t, filepath.Join(idx, "labels-idx1-ubyte.gz"), []byte{0, 0, 8, 1}, 10, nil, make([]byte, 10))
	writeIDX(t, filepath.Join(idx, "images-idx3-ubyte.gz"), []byte{0, 0, 8, 3}, 10, []uint32{2, 2}, make([]byte, 17))

	wrongUse(t, dir, []mistake{
		{2, `no command "dmeo"`, []string{"dmeo"}},
		{2, "not defined: -roundz", []string{"simulate", "-roundz", "3"}},
		{2, `unexpected argument "fast"`, []string{"demo", "fast"}},
		{2, `invalid value "many"`, []string{"simulate", "-nodes", "many"}},
		{2, `-graph: graph: "hexagon"`, []string{"simulate", "-graph", "hexagon"}},
		{2, "not connected", []string{"simulate", "-nodes", "4", "-graph", "file:" + apart}},
		{2, "er:0.001", []string{"simulate", "-nodes", "30", "-graph", "er:0.001"}},
		{2, `-partition "random"`, []string{"simulate", "-partition", "random"}},
		{2, "9 clients", []string{"simulate", "-data", "csv:" + tiny, "-label", "label", "-nodes", "9", "-graph", "ring"}},
		{2, "-rounds is 0, want a whole number, 1..", []string{"simulate", "-rounds", "0"}},
		{2, "-mu is 0, want 1.2e-38..3.4e38", []string{"simulate", "-mu", "0"}},
		{2, "-eta is NaN, want 1.2e-38", []string{"simulate", "-eta", "NaN"}},
		{2, "-eta is +Inf, want 1.2e-38", []string{"simulate", "-eta", "Inf"}},
		{2, "-gain is 1.05, want more than 0 and less than 1", []string{"simulate", "-gain", "1.05"}},
		{2, "-gain is 0, want", []string{"simulate", "-gain", "0"}},
		{2, "-tau is 0", []string{"simulate", "-tau", "0"}},
		{2, "-nodes is 0", []string{"demo", "-nodes", "0"}},
		{2, "-cooldown is -1", []string{"simulate", "-cooldown", "-1"}},
		{2, "-batch is -1", []string{"simulate", "-batch", "-1"}},
		{2, "-test-fraction is 0", []string{"simulate", "-test-fraction", "0"}},
		{2, `estimator "best", want paper, centered or tracking`, []string{"simulate", "-estimator", "best"}},
		{2, `-table "round", want dense or seeded`, []string{"simulate", "-table", "round"}},
		{2, `directions "cube"`, []string{"simulate", "-directions", "cube"}},
		{2, "-non-private and -epsilon exclude", []string{"simulate", "-non-private", "-epsilon", "8"}},
		{2, "-sigma and -epsilon", []string{"simulate", "-sigma", "1", "-epsilon", "8"}},
		{2, "-epsilon is -8", []string{"simulate", "-epsilon", "-8"}},
		{2, "-delta is 1", []string{"simulate", "-delta", "1"}},
		{2, `accounting "moments"`, []string{"simulate", "-accounting", "moments"}},
		{2, "-nodes is 1000, want at most 100", []string{"demo", "-nodes", "1000"}},
		{2, "-rho is 1e+38, want 1e-9..1e9", []string{"simulate", "-rho", "1e38"}},
		{2, "-test-fraction is 1, want", []string{"simulate", "-test-fraction", "1"}},
		{2, `-data "mnist"`, []string{"simulate", "-data", "mnist"}},
		{1, "no such file", []string{"simulate", "-data", "csv:" + dir + "/none.csv", "-label", "a"}},
		{1, "images-idx3-ubyte", []string{"simulate", "-data", "idx:" + dir}},
		{1, "images-idx3-ubyte.gz", []string{"simulate", "-data", "idx:" + idx}},
		{2, "-label is missing", []string{"simulate", "-data", "csv:" + csv}},
		{1, `"y"`, []string{"simulate", "-data", "csv:" + csv, "-label", "label"}},
		{1, "3", []string{"simulate", "-data", "csv:" + csv, "-label", "label"}}, // the line
	})
	// Three mistakes are told at once.
	if _, _, log := call("simulate", "-rounds", "0", "-tau", "0", "-gain", "3"); !strings.Contains(log, "-rounds") || !strings.Contains(log, "-tau") || !strings.Contains(log, "-gain") {
		t.Errorf("not all of three mistakes in\n%s", log)
	}
}

// What plan cannot make sense of.
func TestWrongPlan(t *testing.T) {
	arithmetic(t)
	all := []mistake{
		{2, "-rounds, -steps and -queries exclude each other", strings.Fields("-rounds 5 -steps 10")},
		{2, "-dim is 0, want 1..", strings.Fields("-dim 0")},
		{2, "-dim is 300000000", strings.Fields("-dim 300000000")},
		{2, "-samples is -1", strings.Fields("-samples -1")},
		{2, "-steps is 0", strings.Fields("-steps 0")},
		{2, "-queries is 5, which is 0 rounds", strings.Fields("-queries 5 -tau 2")},
		{2, "-queries is 5, which is 0 rounds", strings.Fields("-queries 5")},
		{2, "-tau is 9, want at most the 4", strings.Fields("-tau 9 -steps 4")},
		{2, "-gain is NaN", strings.Fields("-gain NaN")},
		{2, "-gain is 0,", strings.Fields("-gain 0")},
		{2, "-sigma and -epsilon (or -accounting) exclude", strings.Fields("-sigma 1 -epsilon 8")},
		{2, "-gain is 1.5, want", strings.Fields("-gain 1.5")},
		{2, "-non-private and -epsilon", strings.Fields("-non-private -epsilon 8")},
		{2, `-table "round"`, strings.Fields("-table round")},
		{2, `estimator "best"`, strings.Fields("-estimator best")},
		{2, `-graph: graph: "hexagon"`, strings.Fields("-graph hexagon")},
		{2, "-data", strings.Fields("-data csv:x")},
		{2, "local steps, want at most", strings.Fields("-rounds 2000000 -tau 2000000")},
		{2, "that is no plan", strings.Fields("-rounds 2000000000 -tau 1 -samples 2000000000 -dim 1")},
		{2, "-grid-bits is 9, want 0 (no grid), or a whole number, 2..8", strings.Fields("-grid-bits 9")},
	}
	for i, c := range all {
		all[i].args = append([]string{"plan"}, c.args...)
	}
	wrongUse(t, t.TempDir(), all)
	if _, _, log := call("plan", "-dim", "0", "-samples", "0", "-tau", "0"); strings.Count(log, "want") != 3 {
		t.Errorf("not all of three mistakes in\n%s", log)
	}
}

// What fit cannot make sense of.
func TestWrongFit(t *testing.T) {
	args := []string{"fit", "-data", "synthetic:clinical", "-model", "perceptron", "-fitted-on", "patients of nobody"}
	wrongUse(t, t.TempDir(), []mistake{
		{2, "-fitted-on is missing", []string{"fit", "-data", "synthetic:clinical"}},
		{2, `-data "", want idx:DIR`, []string{"fit", "-fitted-on", "x"}},
		{2, `model "tree", want softmax`, with(args, "-model", "tree")},
		{2, "want 1 to 256", with(args, "-hidden", "257")},
		{2, "softmax with 3 hidden units", with(args, "-model", "softmax", "-hidden", "3")},
		{2, "-pca -1, want a number of components", with(args, "-pca", "-1")},
		{2, "not defined: -nodes", with(args, "-nodes", "3")},
		{2, "want 1 to 200 bytes", with(args, "-fitted-on", strings.Repeat("x", 201))},
		{2, "-model perceptron, -hidden 0: task: ", []string{"simulate", "-model", "perceptron", "-hidden", "0"}},
	})
}

// Flags that do not go together, and values out of range: exit code 64 and one line that names the flag.
func TestWrongPrivacy(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	all := []mistake{
		{2, "give two and the third follows, not 0", nil},
		{2, "give two and the third follows, not 1", []string{"-epsilon", "8"}},
		{2, "give two and the third follows, not 3", []string{"-epsilon", "8", "-sigma", "1", "-rounds", "3"}},
		{2, "-accounting says what -epsilon means", []string{"-rounds", "3", "-sigma", "1", "-accounting", "gdp"}},
		{2, `accounting "moments"`, []string{"-rounds", "3", "-epsilon", "1", "-accounting", "moments"}},
		{2, "-rounds is 0", []string{"-rounds", "0", "-epsilon", "8"}},
		{2, "-rounds is -3", []string{"-rounds", "-3", "-sigma", "8"}},
		{2, `invalid value "x"`, []string{"-rounds", "x"}},
		{2, "-clip is 0", []string{"-rounds", "3", "-epsilon", "8", "-clip", "0"}},
		{2, "-clip is NaN", []string{"-rounds", "3", "-epsilon", "8", "-clip", "NaN"}},
		{2, "-sigma is 0", []string{"-rounds", "3", "-sigma", "0"}},
		{2, "-epsilon is -8", []string{"-rounds", "3", "-epsilon", "-8"}},
		{2, "-epsilon is +Inf", []string{"-rounds", "3", "-epsilon", "Inf"}},
		{2, "epsilon is 1e+07", []string{"-rounds", "3", "-epsilon", "1e7"}},
		{2, "-delta is 0", []string{"-rounds", "3", "-epsilon", "8", "-delta", "0"}},
		{2, "-delta is 1", []string{"-rounds", "3", "-epsilon", "8", "-delta", "1"}},
		{2, "sigma/clip", []string{"-rounds", "3", "-sigma", "1e8"}},
		{2, "sigma/clip", []string{"-epsilon", "3", "-sigma", "1e8"}},
		{2, "nothing is protected", []string{"-rounds", "2147483647", "-sigma", "1e-6"}},
		{2, "nothing is protected", []string{"-rounds", "1", "-sigma", "1e-6"}},
		{2, "-dataset does not go with planning noise", []string{"-dataset", "x"}},
		{2, "-dataset is missing", []string{"-new-ledger", none}},
		{2, "-dataset is empty", []string{"-new-ledger", none, "-dataset", ""}},
		{2, "-new-ledger is empty", []string{"-new-ledger", "", "-dataset", "x"}},
		{2, "-verify is empty", []string{"-verify", ""}},
		{2, "-ledger is empty", []string{"-ledger", ""}},
		{2, "-fleet is empty", []string{"-verify", none, "-fleet", ""}},
		{2, "-fleet does not go with planning noise", []string{"-rounds", "3", "-sigma", "1", "-fleet", none}},
		{2, "-fleet does not go with planning noise", []string{"-fleet", none}},
		{2, "-fleet does not go with -new-ledger", []string{"-new-ledger", none, "-dataset", "x", "-fleet", none}},
		{2, "-delta without -epsilon", []string{"-new-ledger", none, "-dataset", "x", "-delta", "1e-6"}},
		{2, "-accounting says", []string{"-new-ledger", none, "-dataset", "x", "-accounting", "gdp"}},
		{2, "-rounds does not go with -new-ledger", []string{"-new-ledger", none, "-dataset", "x", "-rounds", "3"}},
		{2, "-ledger does not go with -new-ledger", []string{"-new-ledger", none, "-dataset", "x", "-ledger", none}},
		{2, "-new-ledger does not go with -verify", []string{"-verify", none, "-new-ledger", none}},
		{2, "-rounds does not go with -verify", []string{"-verify", none, "-rounds", "3"}},
		{2, "-delta does not go with -verify", []string{"-verify", none, "-delta", "1e-5"}},
		{2, "-epsilon does not go with -ledger", []string{"-ledger", none, "-epsilon", "3"}},
		{2, "-accounting does not go with -ledger", []string{"-ledger", none, "-accounting", "gdp"}},
		{2, "-dataset does not go with -ledger", []string{"-ledger", none, "-dataset", "x"}},
		{2, `unexpected argument "x"`, []string{"-rounds", "3", "x"}},
	}
	for i, c := range all {
		all[i].args = append([]string{"privacy"}, c.args...)
	}
	wrongUse(t, filepath.Dir(none), all)
}
