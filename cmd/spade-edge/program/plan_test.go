package program

import (
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/setup"
)

func planned(t *testing.T, args ...string) (r setup.Report) {
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
	arithmetic(t)
	// The simulated clinics have 3200 training samples in total, with 5 columns and a bias.
	const hidden = "-model perceptron -hidden 150 "
	const few, many = "-nodes 16 -graph er:0.3 -rounds 20 -seed 4 ", hidden + "-nodes 8 -rounds 12 -cooldown 12 -tau 1 -eta 1e-9 -mu 0.07 -clip 0.2 -graph "
	cases := []string{
		few + "-non-private", few + "-non-private -cooldown 2", few, few + "-clip 0.2",
		few + "-batch 7 -tau 3 -grid-bits 8 -cooldown 0", few + "-sigma 3 -gain 0.4 -rho 2 -eta 0.25",
		few + "-accounting paper -epsilon 4 -delta 1e-6 -estimator paper", few + "-mixing 3",
		few + "-colluders 1 -mixing 2 -limit-all 1000", few + "-colluders 0 -sigma 1 -pair-sigma 4", few + "-non-private -mixing 2",
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

// TestPlanBudgets checks that a plan fits its query budget, that a plan with one more round would not fit, and that mu
// and eta decrease as the number of steps grows, as in the paper's schedule.
func TestPlanBudgets(t *testing.T) {
	t.Parallel()
	arithmetic(t)
	for _, tau := range []string{"", "5", "5 -estimator paper"} {
		args, table := []string{"-queries", "50000", "-samples", "70", "-batch", "4"}, 0
		if tau != "" {
			args = append(args, strings.Fields("-tau "+tau)...)
		}
		if strings.Contains(tau, "paper") {
			table = 70
		}
		p := planned(t, args...)
		if p.QueriesClient > 50000 || p.QueriesClient+int64(table+p.Tau*4) <= 50000 || p.QueriesClient != int64(p.Rounds*(table+4*p.Tau)) {
			t.Errorf("tau %q: %d queries in %d rounds of %d steps", tau, p.QueriesClient, p.Rounds, p.Tau)
		}
		if off := float64(p.Tau*p.Tau) / float64(p.Rounds); tau == "" && (off < 1 || off > 1.2) {
			t.Errorf("tau %d with %d rounds, want about the square", p.Tau, p.Rounds)
		}
	}
	// mu is proportional to T^(-1/6) and eta to T^(-1/2), where T is the number of steps. From 1000 to 64000 steps, mu
	// decreases by a factor of 2 and eta by a factor of 8.
	few, many := planned(t, "-steps", "1000"), planned(t, "-steps", "64000")
	if math.Abs(few.Mu/many.Mu-2) > 0.02 || math.Abs(few.Eta/many.Eta-8) > 0.08 || math.Abs(float64(few.Tau)*few.Beta*few.Eta*few.Mu/few.RoundGain-1) > 1e-9 {
		t.Errorf("few %+v, many %+v", few, many)
	}
}

// TestPlanCooldown checks that the plan command correctly predicts how much the models of a real run still disagree
// after the cool-down.
func TestPlanCooldown(t *testing.T) {
	t.Parallel()
	arithmetic(t)
	args := []string{"-nodes", "30", "-graph", "er:0.3", "-rounds", "30", "-seed", "2"}
	needed := planned(t, args...).CooldownNeeded
	if needed == nil {
		t.Fatal("no number of rounds is enough")
	}
	planAt := func(cooldown int) setup.Report { return planned(t, with(args, "-cooldown", strconv.Itoa(cooldown))...) }
	p := planAt(*needed)
	if shorter := planAt(*needed - 1); p.ShareLeft >= 0.05 || shorter.ShareLeft < 0.05 {
		t.Errorf("%d rounds leave %v, and one round less %v", *needed, p.ShareLeft, shorter.ShareLeft)
	}
	run := func(cooldown int) float64 {
		return math.Sqrt(outcome(t, append([]string{"simulate", "-cooldown", strconv.Itoa(cooldown)}, args...)...).ConsensusError)
	}
	before, after := run(0), run(p.Cooldown)
	if left := after / before; left > 0.06 {
		t.Errorf("%d rounds of cool-down leave %.3f of the disagreement, want about %.3f or less", p.Cooldown, left, p.ShareLeft)
	}
}

// TestPlanBytesOfBusiestNode compares the predicted bytes of the busiest node with a manual calculation. Mantissas are
// incompressible, so a number takes between three and four bytes.
func TestPlanBytesOfBusiestNode(t *testing.T) {
	p := planned(t, strings.Fields("-nodes 6 -graph star -dim 1000000 -non-private -rounds 10")...)
	if share := float64(p.Frames.Learning) / 4e6; share < 0.75 || share > 1.001 || p.DegreeMax != 5 || p.BytesRound != 5*p.Frames.Learning ||
		p.BytesNode != 10*p.BytesRound+5*p.Frames.Done {
		t.Errorf("%+v", p)
	}
}
