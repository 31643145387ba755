// Package scorer_test asks each of the scorers in this folder for losses, and compares the predictions of predict.py with
// those of package task.
package scorer_test

import (
	"fmt"
	"math"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/scorer"
	"github.com/spade-dfl/spade-edge/zoest"
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// ways lists the scorers. Each entry has the program that the scorer needs, and the scorer's description for the field
// "oracle" of a node file.
var ways = []struct{ name, needs, oracle string }{
	{"python json", "python3", `{"stream": [%q, "score.py", "json", "data.csv"]}`},
	{"python cbor", "python3", `{"stream": [%q, "score.py", "cbor", "data.csv"], "format": "cbor"}`},
	{"c cbor", "cc", `{"stream": [%q, "cbor", "data.csv"], "format": "cbor"}`},
	{"shell json", "sh", `{"stream": [%q, "score.sh", "json", "data.csv"], "workers": 2}`},
}

// TestScorersAgree checks that all scorers, in all formats, have the same losses to the last bit. The losses of the
// built-in model differ slightly, because it rounds products to float32 and computes exp differently.
func TestScorersAgree(t *testing.T) {
	no := false
	set, err := task.Load(task.Spec{Source: "csv:data.csv", Label: "outcome", Standardize: &no, Bias: &no, Whole: true})
	if err != nil {
		t.Fatal(err)
	}
	builtin, draw := task.NewSoftmax(set.Train), rng.New(2, rng.Address{Purpose: rng.Start})
	var queries []zoest.Query
	for i := range 12 {
		x := make([]float32, builtin.Dim())
		for j := range x {
			x[j] = float32(math.Pow(10, float64(1-i)) * draw.Normal())
		}
		queries = append(queries, zoest.Query{Point: x, Sample: 3 * i})
	}
	ask := func(o zoest.Oracle) []float64 {
		losses := make([]float64, len(queries))
		if err := zoest.Ask(t.Context(), o, queries, losses, 0); err != nil {
			t.Fatal(err)
		}
		return losses
	}
	near, first := ask(builtin), []float64(nil)
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			o := open(t, way.needs, way.oracle)
			if o.Dim() != builtin.Dim() || o.Samples() != builtin.Len() || len(o.Digest()) != 64 {
				t.Fatalf("%d parameters, %d samples, digest %q", o.Dim(), o.Samples(), o.Digest())
			}
			got := ask(o)
			if first == nil {
				first = got
			}
			if !slices.Equal(got, first) || !slices.EqualFunc(got, near, func(a, b float64) bool { return math.Abs(a-b) < 1e-5 }) {
				t.Errorf("losses %v, want %v, and about %v as those of the built-in model", got, first, near)
			}
		})
	}
}

// open starts a scorer as a node does that has this description in its file.
func open(t *testing.T, needs, oracle string) *scorer.Oracle {
	t.Helper()
	program, err := exec.LookPath("/usr/bin/" + needs) // python3 in PATH may be a script that searches for Python
	if err != nil {
		program, err = exec.LookPath(needs)
	}
	if err != nil {
		t.Skipf("%s is not here, so its scorer is not tried: %v", needs, err)
	}
	if needs == "cc" {
		program = filepath.Join(t.TempDir(), "score")
		if out, err := exec.Command("cc", "-std=c99", "-O2", "-o", program, "score.c", "-lm").CombinedOutput(); err != nil || len(out) > 0 {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	node, err := fleetfile.ParseNode(fmt.Appendf(nil, `{"version": 1, "name": "a", "fleet": "f", "key": "k", "state": "s", "oracle": `+oracle+`}`, program), ".")
	if err != nil {
		t.Fatal(err)
	}
	o, err := scorer.OpenStream(t.Context(), scorer.StreamConfig(*node.Oracle.(*fleetfile.Stream)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	})
	return o
}
