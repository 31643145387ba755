package program

import (
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/lab"
)

func planned(t *testing.T, args ...string) (r lab.Report) {
	t.Helper()
	into(t, &r, cli.ExitDone, with([]string{"plan"}, args...)...)
	return r
}

// TestPlanIsWhatHappens checks that a simulation with the same flags matches the prediction of the plan command: it
// must choose the same parameters, its counts must be equal, and the number of bytes must differ by at most 5 %. Models
// with more than 1000 parameters that hardly learn are an exception: early in the cool-down, their coordinates are sums
// of only a few multiples of the grid step and compress better than noise, so the predicted number of bytes is up to a
// tenth too high.
func TestPlanIsWhatHappens(t *testing.T) {
	t.Parallel()
	// The simulated clinics have 3200 training samples in total, with 5 columns and a bias.
	const hidden = "-model perceptron -hidden 150 "
	const few, many = "-nodes 16 -graph er:0.3 -rounds 20 -seed 4 ", hidden + "-nodes 8 -rounds 5 -cooldown 5 -tau 1 -eta 1e-9 -mu 0.07 -clip 0.2 -graph "
	cases := []string{
		few + "-non-private", few + "-non-private -cooldown 2", few, few + "-clip 0.2",
		few + "-batch 7 -tau 3 -grid-bits 8 -cooldown 0", few + "-sigma 3 -gain 0.4 -rho 2 -eta 0.25",
		few + "-accounting paper -epsilon 4 -delta 1e-6 -estimator paper", few + "-mixing 3",
		few + "-colluders 1 -mixing 2 -limit-all 1000 -tau 4", few + "-colluders 0 -sigma 1 -pair-sigma 4 -tau 2", few + "-non-private -mixing 2",
		many + "er:0.5 -colluders 1 -mixing 5", many + "ring -colluders 1 -sigma 0.3 -pair-sigma 1.2 -cooldown 0 -mixing 0",
	}
	if long {
		for _, more := range []string{"star", "complete -mixing 7", "ring", "complete", "ring -mixing 3", "ring -colluders 1"} {
			cases = append(cases, many+more)
		}
	}
	for _, args := range cases {
		r := outcome(t, with([]string{"simulate"}, strings.Fields(args)...)...)
		p := planned(t, with(strings.Fields(strings.TrimPrefix(args, hidden)), "-dim", strconv.Itoa(r.Dim), "-samples", strconv.Itoa(3200/r.Nodes))...)
		if p.Queries != r.Queries || p.QueriesClient*int64(r.Nodes) != r.Queries || p.ScalarsSent != r.ScalarsSent || p.Cooldown != r.Cooldown || p.Tau != r.Tau {
			t.Errorf("%v: planned %+v, and simulated %+v", args, p, r)
		}
		for _, name := range []string{"eta", "mu", "clip", "sigma", "epsilon", "delta", "cooldown"} {
			if p.Chosen[name] != r.Chosen[name] {
				t.Errorf("%v: -%s is %v in the plan, and %v in the simulation", args, name, p.Chosen[name], r.Chosen[name])
			}
		}
		if (p.Privacy == nil) != (r.Privacy == nil) || p.Mixing != r.Mixing ||
			p.Privacy != nil && (!reflect.DeepEqual(p.Privacy.Cost, r.Privacy.Cost) || p.Privacy.Sigma != r.Privacy.Sigma) {
			t.Errorf("%v: mixing %d and privacy %+v planned, %d and %+v simulated", args, p.Mixing, p.Privacy, r.Mixing, r.Privacy)
		}
		most := 0.05
		if r.Dim > 1000 {
			most = 0.1
		}
		if off := float64(p.BytesSent)/float64(r.BytesSent) - 1; off < -0.05 || off > most {
			t.Errorf("%v: %d bytes planned, %d sent", args, p.BytesSent, r.BytesSent)
		}
	}
}
