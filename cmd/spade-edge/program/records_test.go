package program

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/builtin"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/zoest"
)

// perRecord changes the fleet of clinics to record-level privacy, with preprocessing from the fleet file.
func perRecord(f *sdk.Fleet) {
	recipe, err := task.Fit(task.Spec{Source: "synthetic:clinical", Seed: 5}, task.ModelSpec{Name: task.SoftmaxModel}, "a test")
	if err == nil {
		f.Task, err = builtin.MarshalTask(recipe)
	}
	if err != nil {
		panic(err)
	}
	f.Records = slices.Repeat([]int{3200 / len(f.Members)}, len(f.Members))
	f.Privacy.Unit, f.Privacy.Clip = sdk.UnitRecord, 0.002
	f.Method.Batch, f.Method.Estimator, f.Method.Directions = 0, sdk.EstimatorTracking, zoest.Walsh
}

// givenTask makes the nodes of a trial prepare their data as the task in the fleet file specifies.
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

// TestKilledNodesOfRecords kills eight processes of a fleet with record-level privacy at random moments. It checks that
// the models are bit-identical to those of an undisturbed run, with local and with pairwise noise.
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
