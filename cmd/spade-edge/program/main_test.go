package program

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/setup"
	"github.com/spade-dfl/spade-edge/sdk"
)

func run(ctx context.Context, args []string, out, log io.Writer) int {
	return Websockets.Run(ctx, args, out, log)
}

// call runs the program in this process. It returns the exit code, standard output and standard error.
func call(args ...string) (code int, out, log string) {
	var o, l bytes.Buffer
	code = run(context.Background(), toy(args), &o, &l)
	return code, o.String(), l.String()
}

// toy adds the flag -anyway to the arguments of the run command, so that a run starts despite a bad forecast. In tests,
// forecasts are usually bad because fleets are small and runs are short. toy returns the arguments of other commands
// unchanged.
func toy(args []string) []string {
	if len(args) < 2 || args[0] != "run" {
		return args
	}
	return slices.Insert(slices.Clone(args), 1, "-anyway")
}

// outcome runs a command with -json and returns its decoded result. A nonzero exit code fails the test.
func outcome(t *testing.T, args ...string) (r setup.Result) {
	t.Helper()
	into(t, &r, cli.ExitDone, args...)
	return r
}

// small is the command line of a simulation that takes only a fraction of a second.
var small = []string{"simulate", "-nodes", "6", "-rounds", "10", "-cooldown", "3", "-graph", "grid:2x3", "-partition", "dirichlet:0.5"}

func with(args []string, more ...string) []string {
	return append(append([]string(nil), args...), more...)
}

func said(args ...string) (code int, text string) {
	code, out, log := call(args...)
	return code, out + log
}

// TestSimulateCounts checks that the counts of a simulation are exact, that the same flags lead to the same transcript,
// and that another seed or other noise changes the transcript.
func TestSimulateCounts(t *testing.T) {
	t.Parallel()
	r := outcome(t, with(small, "-batch", "8", "-tau", "3", "-non-private", "-estimator", "paper")...)
	const edges, d, k, c, m = 7, 6, 10, 3, 3200 // 3200 training samples; 5 columns and a bias
	if r.ScalarsSent != 2*edges*d*(k+c) || r.Queries != k*(m+6*3*8) || r.Nodes != 6 || r.Rounds != k || r.Cooldown != c || r.Dim != d || r.Tau != 3 || r.Seed != 1 ||
		!r.Simulated || !r.NonPrivate || r.Privacy != nil {
		t.Errorf("result %+v, want %d numbers sent, and sum K*(m_i + tau*b_i) = %d queries", r, 2*edges*d*(k+c), k*(m+6*3*8))
	}
	// Every message carries a signed release of 196 bytes. A completion message, which crosses every edge in both
	// directions, carries 64 bytes more.
	if signs := int64(2 * edges * (196*(k+c+1) + 64)); r.BytesSent < 4*r.ScalarsSent+signs || r.BytesSent > 12*r.ScalarsSent+signs {
		t.Errorf("%d bytes for %d numbers of four and %d of signatures", r.BytesSent, r.ScalarsSent, signs)
	}
	seen := map[string]string{r.Transcript: "the first run"}
	for _, flags := range []string{"-seed 2", "-directions walsh -estimator paper", "", "-batch 7", "-gain 0.3", "-mu 0.5",
		"-graph ring", "-epsilon 8"} {
		args := with(with(small, "-batch", "8", "-tau", "3"), strings.Fields(flags)...)
		if flags != "-epsilon 8" {
			args = append(args, "-non-private")
		}
		first, again := outcome(t, args...), outcome(t, args...)
		if first.Transcript != again.Transcript {
			t.Errorf("%q: two runs of one seed differ", flags)
		}
		if other, taken := seen[first.Transcript]; taken {
			t.Errorf("%q has the transcript of %q", flags, other)
		}
		seen[first.Transcript] = flags
	}
}

// TestDemoMatchesSimulation checks that the releases of the demo's nodes, which use sockets and TLS, are bit-identical
// to the releases of a simulation.
func TestDemoMatchesSimulation(t *testing.T) {
	t.Parallel()
	flags := []string{"-nodes", "5", "-graph", "ring", "-rounds", "12", "-cooldown", "4", "-partition", "dirichlet:0.3", "-seed", "3", "-non-private"}
	sim := outcome(t, append([]string{"simulate"}, flags...)...)
	demo := outcome(t, append([]string{"demo"}, flags...)...)
	if demo.Transcript != sim.Transcript || demo.Simulated || !sim.Simulated || demo.Queries != sim.Queries || demo.ScalarsSent != sim.ScalarsSent || demo.BytesSent < sim.BytesSent {
		t.Errorf("demo %+v, simulation %+v", demo, sim)
	}
}

// TestDemoDefault checks the demo with default settings: it must be private for each patient, far better than training
// alone, and about as good as one node trained on all data. The demo's noise is random. When the test was written, the
// demo's accuracy was 89.2 % with a standard deviation of 0.3, and the accuracy of the node with all data was also
// 89.2 %. With SPADE_LONG, the test runs the demo four times and checks that the releases differ.
func TestDemoDefault(t *testing.T) {
	t.Parallel()
	runs := 1
	if long && !raceDetector {
		runs = 4
	}
	transcripts := map[string]bool{}
	for range runs {
		r := outcome(t, "demo")
		transcripts[r.Transcript] = true
		if *r.Pooled < 85 || r.Mean < *r.Pooled-4 || r.Forecast.Gain < 0.9 {
			t.Errorf("%.1f %%, pooled %.1f %%, forecast %+v", r.Mean, *r.Pooled, r.Forecast)
		}
		if p := r.Privacy; p == nil || p.Unit != sdk.UnitRecord || math.Abs(p.EpsilonGDP-1) > 1e-3 || p.EpsilonGDP > 1 || len(p.ConditionalOn) == 0 {
			t.Errorf("privacy %+v", r.Privacy)
		}
	}
	if len(transcripts) != runs {
		t.Error("private runs made the same releases: the noise repeats")
	}
}

// TestCooldown checks that the cool-down reduces the disagreement between the clients' models and does not increase the
// privacy cost.
func TestCooldown(t *testing.T) {
	base := []string{"simulate", "-nodes", "20", "-graph", "er:0.3", "-rounds", "30"}
	short, long := outcome(t, with(base, "-cooldown", "0")...), outcome(t, base...)
	if short.Cooldown != 0 || long.Cooldown != 30 || long.Chosen["cooldown"] != 30.0 {
		t.Errorf("cool-down of %d and %d rounds, chosen %v; want 0, and 30 picked by the program", short.Cooldown, long.Cooldown, long.Chosen)
	}
	if long.ConsensusError > short.ConsensusError/20 {
		t.Errorf("consensus error %v after the cool-down, %v without", long.ConsensusError, short.ConsensusError)
	}
	if long.Privacy.Rho != short.Privacy.Rho || long.Queries != short.Queries {
		t.Errorf("the cool-down cost something: %+v against %+v", long, short)
	}
	if r := outcome(t, "simulate", "-nodes", "1", "-rounds", "20", "-non-private", "-cooldown", "2"); r.Mean < 85 || r.ScalarsSent != 0 || r.BytesSent != 0 || r.ConsensusError != 0 {
		t.Errorf("a single client: %+v", r)
	}
}

// TestPrivacyFlags checks that the sigma computed from -epsilon results in the same epsilon if it is given with -sigma,
// and that the accounting methods lead to different sigmas.
func TestPrivacyFlags(t *testing.T) {
	gdp := outcome(t, with(small, "-epsilon", "4", "-clip", "0.5")...)
	back := outcome(t, with(small, "-sigma", jsonNumber(gdp.Privacy.Sigma), "-clip", "0.5")...)
	if p := gdp.Privacy; math.Abs(p.EpsilonGDP-4) > 1e-4 || p.Clip != 0.5 || p.Mu != math.Sqrt(2*p.Rho) || p.Delta != 1e-5 ||
		back.Privacy.EpsilonGDP != p.EpsilonGDP || back.Transcript != gdp.Transcript {
		t.Errorf("%+v, want epsilon 4; sigma back gives %+v", p, back.Privacy)
	}
	paper := outcome(t, with(small, "-epsilon", "4", "-clip", "0.5", "-accounting", "paper")...)
	if math.Abs(paper.Privacy.EpsilonPaper-4) > 1e-4 || paper.Privacy.Sigma <= gdp.Privacy.Sigma {
		t.Errorf("%+v, want epsilon_paper 4 at more noise than %v", paper.Privacy, gdp.Privacy.Sigma)
	}
}

func jsonNumber(x float64) string {
	b, _ := json.Marshal(x)
	return string(b)
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// TestFullDisk checks that every command fails if it cannot write its result.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"demo", "-rounds", "2", "-cooldown", "1"}, with(small), with(small, "-json"), {"version"}, {"help"}, {"demo", "-h"}} {
		var log bytes.Buffer
		if code := run(context.Background(), args, full{}, &log); code != cli.ExitFailed || !strings.Contains(log.String(), "no space left") {
			t.Errorf("%v: exit code %d, %q", args, code, log.String())
		}
	}
}

// TestInterrupt checks that an interrupt ends a run immediately, with a message and exit code 1.
func TestInterrupt(t *testing.T) {
	for _, name := range []string{"simulate", "demo"} {
		ctx, cancel := context.WithCancel(context.Background())
		log := &stopper{stop: cancel}
		var out bytes.Buffer
		code := run(ctx, []string{name, "-rounds", "100000", "-nodes", "3", "-json"}, &out, log)
		if code != cli.ExitFailed || out.Len() > 0 || !strings.Contains(log.String(), "interrupted") {
			t.Errorf("%s: exit code %d, output %q", name, code, out.String())
		}
	}
}

// stopper calls stop when a write contains the word "round".
type stopper struct {
	bytes.Buffer
	stop func()
}

func (s *stopper) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("round")) {
		s.stop()
	}
	return s.Buffer.Write(p)
}
