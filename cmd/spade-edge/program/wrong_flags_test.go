package program

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
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
		{cli.ExitUsage, `no command "dmeo"`, []string{"dmeo"}},
		{cli.ExitUsage, "not defined: -roundz", []string{"simulate", "-roundz", "3"}},
		{cli.ExitUsage, `unexpected argument "fast"`, []string{"demo", "fast"}},
		{cli.ExitUsage, `invalid value "many"`, []string{"simulate", "-nodes", "many"}},
		{cli.ExitUsage, `-graph: graph: "hexagon"`, []string{"simulate", "-graph", "hexagon"}},
		{cli.ExitUsage, "not connected", []string{"simulate", "-nodes", "4", "-graph", "file:" + apart}},
		{cli.ExitUsage, "er:0.001", []string{"simulate", "-nodes", "30", "-graph", "er:0.001"}},
		{cli.ExitUsage, `-partition "random"`, []string{"simulate", "-partition", "random"}},
		{cli.ExitUsage, "9 clients", []string{"simulate", "-data", "csv:" + tiny, "-label", "label", "-nodes", "9", "-graph", "ring"}},
		{cli.ExitUsage, "-rounds is 0, want a whole number, 1..", []string{"simulate", "-rounds", "0"}},
		{cli.ExitUsage, "-mu is 0, want 1.2e-38..3.4e38", []string{"simulate", "-mu", "0"}},
		{cli.ExitUsage, "-eta is NaN, want 1.2e-38", []string{"simulate", "-eta", "NaN"}},
		{cli.ExitUsage, "-eta is +Inf, want 1.2e-38", []string{"simulate", "-eta", "Inf"}},
		{cli.ExitUsage, "-gain is 1.05, want more than 0 and less than 1", []string{"simulate", "-gain", "1.05"}},
		{cli.ExitUsage, "-gain is 0, want", []string{"simulate", "-gain", "0"}},
		{cli.ExitUsage, "-tau is 0", []string{"simulate", "-tau", "0"}},
		{cli.ExitUsage, "-nodes is 0", []string{"demo", "-nodes", "0"}},
		{cli.ExitUsage, "-cooldown is -1", []string{"simulate", "-cooldown", "-1"}},
		{cli.ExitUsage, "-batch is -1", []string{"simulate", "-batch", "-1"}},
		{cli.ExitUsage, "-test-fraction is 0", []string{"simulate", "-test-fraction", "0"}},
		{cli.ExitUsage, `estimator "best", want paper, centered or tracking`, []string{"simulate", "-estimator", "best"}},
		{cli.ExitUsage, `-table "round", want dense or seeded`, []string{"simulate", "-table", "round"}},
		{cli.ExitUsage, `directions "cube"`, []string{"simulate", "-directions", "cube"}},
		{cli.ExitUsage, "-non-private and -epsilon exclude", []string{"simulate", "-non-private", "-epsilon", "8"}},
		{cli.ExitUsage, "-sigma and -epsilon", []string{"simulate", "-sigma", "1", "-epsilon", "8"}},
		{cli.ExitUsage, "-epsilon is -8", []string{"simulate", "-epsilon", "-8"}},
		{cli.ExitUsage, "-delta is 1", []string{"simulate", "-delta", "1"}},
		{cli.ExitUsage, `accounting "moments"`, []string{"simulate", "-accounting", "moments"}},
		{cli.ExitUsage, "-nodes is 1000, want at most 100", []string{"demo", "-nodes", "1000"}},
		{cli.ExitUsage, "-rho is 1e+38, want 1e-9..1e9", []string{"simulate", "-rho", "1e38"}},
		{cli.ExitUsage, "-test-fraction is 1, want", []string{"simulate", "-test-fraction", "1"}},
		{cli.ExitUsage, `-data "mnist"`, []string{"simulate", "-data", "mnist"}},
		{1, "no such file", []string{"simulate", "-data", "csv:" + dir + "/none.csv", "-label", "a"}},
		{1, "images-idx3-ubyte", []string{"simulate", "-data", "idx:" + dir}},
		{1, "images-idx3-ubyte.gz", []string{"simulate", "-data", "idx:" + idx}},
		{cli.ExitUsage, "-label is missing", []string{"simulate", "-data", "csv:" + csv}},
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
		{cli.ExitUsage, "-rounds, -steps and -queries exclude each other", strings.Fields("-rounds 5 -steps 10")},
		{cli.ExitUsage, "-dim is 0, want 1..", strings.Fields("-dim 0")},
		{cli.ExitUsage, "-dim is 300000000", strings.Fields("-dim 300000000")},
		{cli.ExitUsage, "-samples is -1", strings.Fields("-samples -1")},
		{cli.ExitUsage, "-steps is 0", strings.Fields("-steps 0")},
		{cli.ExitUsage, "-queries is 5, which is 0 rounds", strings.Fields("-queries 5 -tau 2")},
		{cli.ExitUsage, "-queries is 5, which is 0 rounds", strings.Fields("-queries 5")},
		{cli.ExitUsage, "-tau is 9, want at most the 4", strings.Fields("-tau 9 -steps 4")},
		{cli.ExitUsage, "-gain is NaN", strings.Fields("-gain NaN")},
		{cli.ExitUsage, "-gain is 0,", strings.Fields("-gain 0")},
		{cli.ExitUsage, "-sigma and -epsilon (or -accounting) exclude", strings.Fields("-sigma 1 -epsilon 8")},
		{cli.ExitUsage, "-gain is 1.5, want", strings.Fields("-gain 1.5")},
		{cli.ExitUsage, "-non-private and -epsilon", strings.Fields("-non-private -epsilon 8")},
		{cli.ExitUsage, `-table "round"`, strings.Fields("-table round")},
		{cli.ExitUsage, `estimator "best"`, strings.Fields("-estimator best")},
		{cli.ExitUsage, `-graph: graph: "hexagon"`, strings.Fields("-graph hexagon")},
		{cli.ExitUsage, "-data", strings.Fields("-data csv:x")},
		{cli.ExitUsage, "local steps, want at most", strings.Fields("-rounds 2000000 -tau 2000000")},
		{cli.ExitUsage, "that is no plan", strings.Fields("-rounds 2000000000 -tau 1 -samples 2000000000 -dim 1")},
		{cli.ExitUsage, "-grid-bits is 9, want 0 (no grid), or a whole number, 2..8", strings.Fields("-grid-bits 9")},
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
		{cli.ExitUsage, "-fitted-on is missing", []string{"fit", "-data", "synthetic:clinical"}},
		{cli.ExitUsage, `-data "", want idx:DIR`, []string{"fit", "-fitted-on", "x"}},
		{cli.ExitUsage, `model "tree", want softmax`, with(args, "-model", "tree")},
		{cli.ExitUsage, "want 1 to 256", with(args, "-hidden", "257")},
		{cli.ExitUsage, "softmax with 3 hidden units", with(args, "-model", "softmax", "-hidden", "3")},
		{cli.ExitUsage, "-pca -1, want a number of components", with(args, "-pca", "-1")},
		{cli.ExitUsage, "not defined: -nodes", with(args, "-nodes", "3")},
		{cli.ExitUsage, "want 1 to 200 bytes", with(args, "-fitted-on", strings.Repeat("x", 201))},
		{cli.ExitUsage, "-model perceptron, -hidden 0: ", []string{"simulate", "-model", "perceptron", "-hidden", "0"}},
	})
}

// Flags that do not go together, and values out of range: exit code 64 and one line that names the flag.
func TestWrongPrivacy(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	all := []mistake{
		{cli.ExitUsage, "give two and the third follows, not 0", nil},
		{cli.ExitUsage, "give two and the third follows, not 1", []string{"-epsilon", "8"}},
		{cli.ExitUsage, "give two and the third follows, not 3", []string{"-epsilon", "8", "-sigma", "1", "-rounds", "3"}},
		{cli.ExitUsage, "-accounting says what -epsilon means", []string{"-rounds", "3", "-sigma", "1", "-accounting", "gdp"}},
		{cli.ExitUsage, `accounting "moments"`, []string{"-rounds", "3", "-epsilon", "1", "-accounting", "moments"}},
		{cli.ExitUsage, "-rounds is 0", []string{"-rounds", "0", "-epsilon", "8"}},
		{cli.ExitUsage, "-rounds is -3", []string{"-rounds", "-3", "-sigma", "8"}},
		{cli.ExitUsage, `invalid value "x"`, []string{"-rounds", "x"}},
		{cli.ExitUsage, "-clip is 0", []string{"-rounds", "3", "-epsilon", "8", "-clip", "0"}},
		{cli.ExitUsage, "-clip is NaN", []string{"-rounds", "3", "-epsilon", "8", "-clip", "NaN"}},
		{cli.ExitUsage, "-sigma is 0", []string{"-rounds", "3", "-sigma", "0"}},
		{cli.ExitUsage, "-epsilon is -8", []string{"-rounds", "3", "-epsilon", "-8"}},
		{cli.ExitUsage, "-epsilon is +Inf", []string{"-rounds", "3", "-epsilon", "Inf"}},
		{cli.ExitUsage, "epsilon is 1e+07", []string{"-rounds", "3", "-epsilon", "1e7"}},
		{cli.ExitUsage, "-delta is 0", []string{"-rounds", "3", "-epsilon", "8", "-delta", "0"}},
		{cli.ExitUsage, "-delta is 1", []string{"-rounds", "3", "-epsilon", "8", "-delta", "1"}},
		{cli.ExitUsage, "sigma/clip", []string{"-rounds", "3", "-sigma", "1e8"}},
		{cli.ExitUsage, "sigma/clip", []string{"-epsilon", "3", "-sigma", "1e8"}},
		{cli.ExitUsage, "nothing is protected", []string{"-rounds", "2147483647", "-sigma", "1e-6"}},
		{cli.ExitUsage, "nothing is protected", []string{"-rounds", "1", "-sigma", "1e-6"}},
		{cli.ExitUsage, "-dataset does not go with planning noise", []string{"-dataset", "x"}},
		{cli.ExitUsage, "-dataset is missing", []string{"-new-ledger", none}},
		{cli.ExitUsage, "-dataset is empty", []string{"-new-ledger", none, "-dataset", ""}},
		{cli.ExitUsage, "-new-ledger is empty", []string{"-new-ledger", "", "-dataset", "x"}},
		{cli.ExitUsage, "-verify is empty", []string{"-verify", ""}},
		{cli.ExitUsage, "-ledger is empty", []string{"-ledger", ""}},
		{cli.ExitUsage, "-fleet is empty", []string{"-verify", none, "-fleet", ""}},
		{cli.ExitUsage, "-fleet does not go with planning noise", []string{"-rounds", "3", "-sigma", "1", "-fleet", none}},
		{cli.ExitUsage, "-fleet does not go with planning noise", []string{"-fleet", none}},
		{cli.ExitUsage, "-fleet does not go with -new-ledger", []string{"-new-ledger", none, "-dataset", "x", "-fleet", none}},
		{cli.ExitUsage, "-delta without -epsilon", []string{"-new-ledger", none, "-dataset", "x", "-delta", "1e-6"}},
		{cli.ExitUsage, "-accounting says", []string{"-new-ledger", none, "-dataset", "x", "-accounting", "gdp"}},
		{cli.ExitUsage, "-rounds does not go with -new-ledger", []string{"-new-ledger", none, "-dataset", "x", "-rounds", "3"}},
		{cli.ExitUsage, "-ledger does not go with -new-ledger", []string{"-new-ledger", none, "-dataset", "x", "-ledger", none}},
		{cli.ExitUsage, "-new-ledger does not go with -verify", []string{"-verify", none, "-new-ledger", none}},
		{cli.ExitUsage, "-rounds does not go with -verify", []string{"-verify", none, "-rounds", "3"}},
		{cli.ExitUsage, "-delta does not go with -verify", []string{"-verify", none, "-delta", "1e-5"}},
		{cli.ExitUsage, "-epsilon does not go with -ledger", []string{"-ledger", none, "-epsilon", "3"}},
		{cli.ExitUsage, "-accounting does not go with -ledger", []string{"-ledger", none, "-accounting", "gdp"}},
		{cli.ExitUsage, "-dataset does not go with -ledger", []string{"-ledger", none, "-dataset", "x"}},
		{cli.ExitUsage, `unexpected argument "x"`, []string{"-rounds", "3", "x"}},
	}
	for i, c := range all {
		all[i].args = append([]string{"privacy"}, c.args...)
	}
	wrongUse(t, filepath.Dir(none), all)
}
