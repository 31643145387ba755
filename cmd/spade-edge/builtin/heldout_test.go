package builtin

import (
	"errors"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
)

// TestHeldOut checks that a node with held_out trains on all of its rows and tests on those of the other file, both
// prepared in the same way: by the fleet's task, or as fitted on its own rows. A row that cannot be read, of a record that
// the fleet protects, does not stop the node.
func TestHeldOut(t *testing.T) {
	lines := recordCase{sep: ","}.lines(20)
	rest := append(lines[:1:1], lines[14:]...)
	own, held, odd := writeLines(t, lines[:14]...), writeLines(t, rest...), writeLines(t, append(rest, "p,abc,1,x,yes")...)
	spec := task.Spec{Source: own, Label: "y", Drop: []string{"who", "c"}, Whole: true}
	softmax := task.ModelSpec{Name: task.SoftmaxModel}
	recipe, err := task.Fit(spec, softmax, "a test")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		oracle Oracle
		fleet  *fleetfile.File
		lost   int
	}{
		"task":    {Oracle{Spec: task.Spec{Source: own, Whole: true}, HeldOut: odd}, fleetOf(t, recipe, 0), 1},
		"own fit": {Oracle{FitOwn: true, Model: softmax, Spec: spec, HeldOut: held}, &fleetfile.File{Fleet: &sdk.Fleet{Dim: recipe.Dim()}}, 0},
	} {
		s, err := c.oracle.Open(t.Context(), c.fleet)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		test := s.Test.(interface{ Data() *task.Data }).Data()
		want, err := recipe.Apply(task.Spec{Source: held, Whole: true})
		if err != nil || s.Samples != 13 || test.Len() != 7 || s.Rows.Lost != c.lost || test.Row(0)[0] != want.Train.Row(0)[0] {
			t.Errorf("%s: %d samples, %d held out, %v", name, s.Samples, test.Len(), err)
		}
		c.oracle.HeldOut = "csv:none.csv"
		if _, err := c.oracle.Open(t.Context(), c.fleet); err == nil || errors.Is(err, fleetfile.ErrMismatch) || !strings.Contains(err.Error(), "held_out") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
