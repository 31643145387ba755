package program

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/node"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/setup"
	"github.com/spade-dfl/spade-edge/sdk"
)

func run(ctx context.Context, args []string, out, log io.Writer) int {
	return node.Websockets.Run(ctx, args, out, log)
}

// call runs the program. It returns the exit code and both outputs.
func call(args ...string) (code int, out, log string) {
	var o, l bytes.Buffer
	code = run(context.Background(), toy(args), &o, &l)
	return code, o.String(), l.String()
}

// toy makes a run start regardless of its forecast, because fleets of tests are small and their runs short.
func toy(args []string) []string {
	if len(args) < 2 || args[0] != "run" {
		return args
	}
	return slices.Insert(slices.Clone(args), 1, "-anyway")
}

// outcome runs a command with -json and returns the result. A nonzero exit code fails the test.
func outcome(t *testing.T, args ...string) setup.Result {
	t.Helper()
	code, out, log := call(append(args, "-json")...)
	if code != cli.ExitDone {
		t.Fatalf("exit code %d: %s", code, log)
	}
	dec := json.NewDecoder(strings.NewReader(out))
	dec.DisallowUnknownFields()
	var r setup.Result
	if err := dec.Decode(&r); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	if dec.More() {
		t.Fatalf("more than one JSON object in %s", out)
	}
	return r
}

// small is a simulation that takes a fraction of a second.
var small = []string{"simulate", "-nodes", "6", "-rounds", "10", "-cooldown", "3", "-graph", "grid:2x3", "-partition", "dirichlet:0.5"}

func with(args []string, more ...string) []string {
	return append(append([]string(nil), args...), more...)
}

func said(args ...string) (code int, text string) {
	code, out, log := call(args...)
	return code, out + log
}

// Counts are exact. The same flags give the same transcript; another seed, or noise, gives another.
func TestSimulateCounts(t *testing.T) {
	t.Parallel()
	r := outcome(t, with(small, "-batch", "8", "-tau", "3", "-non-private", "-estimator", "paper")...)
	const edges, d, k, c, m = 7, 6, 10, 3, 3200 // 3200 training samples; 5 columns and a bias
	if want := int64(2 * edges * d * (k + c)); r.ScalarsSent != want {
		t.Errorf("scalars_sent %d, want %d", r.ScalarsSent, want)
	}
	if want := int64(k * (m + 6*3*8)); r.Queries != want {
		t.Errorf("queries %d, want sum K*(m_i + tau*b_i) = %d", r.Queries, want)
	}
	if r.Nodes != 6 || r.Rounds != k || r.Cooldown != c || r.Dim != d || r.Tau != 3 || r.Seed != 1 || !r.Simulated || !r.NonPrivate || r.Privacy != nil {
		t.Errorf("result %+v", r)
	}
	// Every message carries a signed release of 196 bytes; over every edge goes, both ways, a completion message with
	// as much and 64 bytes more.
	if signs := int64(2 * edges * (196*(k+c+1) + 64)); r.BytesSent < 4*r.ScalarsSent+signs || r.BytesSent > 12*r.ScalarsSent+signs {
		t.Errorf("%d bytes for %d numbers of four and %d of signatures", r.BytesSent, r.ScalarsSent, signs)
	}
	seen := map[string]string{r.Transcript: "the first run"}
	for name, args := range map[string][]string{
		"another seed":     {"-batch", "8", "-tau", "3", "-non-private", "-seed", "2"},
		"centered":         {"-batch", "8", "-tau", "3", "-non-private", "-estimator", "centered"},
		"walsh":            {"-batch", "8", "-tau", "3", "-non-private", "-directions", "walsh", "-estimator", "paper"},
		"tracking":         {"-batch", "8", "-tau", "3", "-non-private"},
		"noise":            {"-batch", "8", "-tau", "3"},
		"another batch":    {"-batch", "7", "-tau", "3", "-non-private"},
		"another gain":     {"-batch", "8", "-tau", "3", "-non-private", "-gain", "0.3"},
		"another mu":       {"-batch", "8", "-tau", "3", "-non-private", "-mu", "0.5"},
		"another topology": {"-batch", "8", "-tau", "3", "-non-private", "-graph", "ring"},
	} {
		first, again := outcome(t, with(small, args...)...), outcome(t, with(small, args...)...)
		if first.Transcript != again.Transcript {
			t.Errorf("%s: two runs of one seed differ", name)
		}
		if other, taken := seen[first.Transcript]; taken {
			t.Errorf("%s has the transcript of %s", name, other)
		}
		seen[first.Transcript] = name
	}
}

// A seeded table takes less memory and gives the same bits, for both estimators and both distributions of directions.
func TestSeededTable(t *testing.T) {
	t.Parallel()
	for _, estimator := range []string{"paper", "centered"} {
		for _, directions := range []string{"rademacher", "walsh"} {
			args := with(small, "-batch", "8", "-estimator", estimator, "-directions", directions)
			if dense, seeded := outcome(t, args...), outcome(t, with(args, "-table", "seeded")...); dense.Transcript != seeded.Transcript {
				t.Errorf("%s, %s: transcripts %s (dense) and %s (seeded)", estimator, directions, dense.Transcript, seeded.Transcript)
			}
		}
	}
}

// The demo's nodes, which use sockets and TLS, make the same releases as the simulation, bit for bit.
func TestDemoMatchesSimulation(t *testing.T) {
	t.Parallel()
	flags := []string{"-nodes", "5", "-graph", "ring", "-rounds", "12", "-cooldown", "4", "-partition", "dirichlet:0.3", "-seed", "3", "-non-private"}
	sim := outcome(t, append([]string{"simulate"}, flags...)...)
	demo := outcome(t, append([]string{"demo"}, flags...)...)
	if demo.Transcript != sim.Transcript {
		t.Errorf("transcripts differ: websockets %s, simulation %s", demo.Transcript, sim.Transcript)
	}
	if demo.Simulated || !sim.Simulated {
		t.Errorf("simulated: demo %v, simulate %v", demo.Simulated, sim.Simulated)
	}
	if demo.Queries != sim.Queries || demo.ScalarsSent != sim.ScalarsSent || demo.BytesSent < sim.BytesSent {
		t.Errorf("demo %+v, simulation %+v", demo, sim)
	}
}

// The demo with defaults is private for each patient, far better than training alone, and about as good as one node
// with all data. The noise is random: 89.2 % with a deviation of 0.3, and 89.2 % pooled. Releases of several runs
// (four with SPADE_LONG, otherwise one) differ.
func TestDemoDefault(t *testing.T) {
	t.Parallel()
	code, out, log := call("demo")
	if code != cli.ExitDone {
		t.Fatal(log)
	}
	for _, want := range []string{"node-7", "average", "pooled", "majority", "epsilon 1.00 against everybody else together, at delta 1e-05 for each record", "consensus error", "KiB in all"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	for _, want := range []string{"-epsilon 1 ", "forecast: 9", "over TLS websockets on this machine: 28"} {
		if !strings.Contains(log, want) {
			t.Errorf("no %q in\n%s", want, log)
		}
	}
	if !long || raceDetector {
		var alone, together, pooled float64
		for line := range strings.Lines(out) {
			fmt.Sscanf(line, "average %f %% %f %%", &alone, &together)
			fmt.Sscanf(line, "pooled 3200 %f %%", &pooled)
		}
		if alone == 0 || together < pooled-4 || pooled < 85 {
			t.Errorf("%.1f %% alone, %.1f %% with the others, %.1f %% pooled\n%s%s", alone, together, pooled, log, out)
		}
		return
	}
	const runs = 4
	transcripts := map[string]bool{}
	for range runs {
		r := outcome(t, "demo")
		transcripts[r.Transcript] = true
		if *r.Pooled < 85 || r.Mean < *r.Pooled-4 {
			t.Errorf("%.1f %%, pooled %.1f %%", r.Mean, *r.Pooled)
		}
		if p := r.Privacy; p == nil || p.Unit != sdk.UnitRecord || math.Abs(p.EpsilonGDP-1) > 1e-3 || p.EpsilonGDP > 1 || len(p.ConditionalOn) == 0 {
			t.Errorf("privacy %+v", r.Privacy)
		}
	}
	if len(transcripts) != runs {
		t.Error("private runs made the same releases: the noise repeats")
	}
}

// Cool-down and average both bring a client's model closer to the network's, at no privacy cost.
func TestCooldownAndAverage(t *testing.T) {
	base := []string{"simulate", "-nodes", "20", "-graph", "er:0.3", "-rounds", "30", "-average"}
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
	if short.Averaged == nil || *short.Averaged < short.Mean {
		t.Errorf("averaged %v, last %v", short.Averaged, short.Mean)
	}
}

func TestSingleClient(t *testing.T) {
	r := outcome(t, "simulate", "-nodes", "1", "-rounds", "20", "-non-private", "-cooldown", "2")
	if r.Mean < 85 || r.ScalarsSent != 0 || r.BytesSent != 0 || r.ConsensusError != 0 {
		t.Errorf("result %+v", r)
	}
}

// -sigma and -epsilon invert each other, and the accountings differ as they should.
func TestPrivacyFlags(t *testing.T) {
	gdp := outcome(t, with(small, "-epsilon", "4", "-clip", "0.5")...)
	if math.Abs(gdp.Privacy.EpsilonGDP-4) > 1e-4 || gdp.Privacy.Clip != 0.5 {
		t.Errorf("%+v, want epsilon 4", gdp.Privacy)
	}
	if mu := math.Sqrt(2 * gdp.Privacy.Rho); gdp.Privacy.Mu != mu || gdp.Privacy.Delta != 1e-5 {
		t.Errorf("mu %v, want %v", gdp.Privacy.Mu, mu)
	}
	back := outcome(t, with(small, "-sigma", jsonNumber(gdp.Privacy.Sigma), "-clip", "0.5")...)
	if back.Privacy.EpsilonGDP != gdp.Privacy.EpsilonGDP || back.Transcript != gdp.Transcript {
		t.Errorf("sigma back gives %+v, want %+v", back.Privacy, gdp.Privacy)
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

// Every command fails if it cannot write its result.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"demo", "-rounds", "2", "-cooldown", "1"}, with(small), with(small, "-json"), {"version"}, {"help"}, {"demo", "-h"}} {
		var log bytes.Buffer
		if code := run(context.Background(), args, full{}, &log); code != cli.ExitFailed || !strings.Contains(log.String(), "no space left") {
			t.Errorf("%v: exit code %d, %q", args, code, log.String())
		}
	}
}

// The help of every command has an example and ends correctly.
func TestHelp(t *testing.T) {
	for _, cmd := range cli.Commands {
		code, out, log := call(cmd.Name, "-h")
		if code != cli.ExitDone || !strings.Contains(out, "spade-edge "+cmd.Name) || log != "" {
			t.Errorf("%s -h: exit code %d\n%s%s", cmd.Name, code, out, log)
		}
	}
	for _, word := range []string{"help", "-h", "--help"} {
		if code, out, _ := call(word); code != cli.ExitDone || !strings.Contains(out, "spade-edge demo") {
			t.Errorf("%s: exit code %d\n%s", word, code, out)
		}
	}
	if code, out, _ := call("version"); code != cli.ExitDone || !strings.Contains(out, "spade-edge ") {
		t.Errorf("version: exit code %d, %q", code, out)
	}
}

// An interrupt ends a run at once, with a message and exit code 1.
func TestInterrupt(t *testing.T) {
	for _, name := range []string{"simulate", "demo"} {
		ctx, cancel := context.WithCancel(context.Background())
		log := &stopper{after: "round", stop: cancel}
		var out bytes.Buffer
		code := run(ctx, []string{name, "-rounds", "100000", "-nodes", "3", "-json"}, &out, log)
		if code != cli.ExitFailed || out.Len() > 0 || !strings.Contains(log.String(), "interrupted") {
			t.Errorf("%s: exit code %d, output %q", name, code, out.String())
		}
	}
}

// stopper calls stop once a given word is written to it.
type stopper struct {
	bytes.Buffer
	after string
	stop  func()
}

func (s *stopper) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(s.after)) {
		s.stop()
	}
	return s.Buffer.Write(p)
}
