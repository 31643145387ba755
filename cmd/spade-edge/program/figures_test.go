package program

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/fleet"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk/device"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/monitor"
	"github.com/spade-dfl/spade-edge/sdk/state"
)

// kinds are releases that protect against different adversaries.
var (
	outsiders = dpmech.Gaussian{Clip: 1, Sigma: 8, Shared: dpmech.Shared{Sigma: 32, Effective: 32}}
	oneMember = dpmech.Gaussian{Clip: 1, Sigma: 8, Shared: dpmech.Shared{Sigma: 16, Effective: 16, Colluders: 1}}
	ownNoise  = dpmech.Gaussian{Clip: 1, Sigma: 32}
)

// spend reserves releases of a run in a ledger.
func spend(t *testing.T, path, run string, rounds int, g dpmech.Gaussian) {
	t.Helper()
	ledger, err := state.OpenLedger(path)
	if err != nil {
		t.Fatal(err)
	}
	for round := 1; round <= rounds && err == nil; round++ {
		err = ledger.Reserve(run, sha256.Sum256([]byte(run)), "a", round, g)
	}
	if err = errors.Join(err, ledger.Close()); err != nil {
		t.Fatal(err)
	}
}

// The figures of a lifetime are those of all runs, and not of the present one: whatever shows them names the weakest
// adversary of all runs, and has a second figure against all other members together, also if the present run shares no
// noise.
func TestLifetimeNamesItsAdversary(t *testing.T) {
	t.Parallel()
	const all = "all other members together"
	for name, c := range map[string]struct {
		earlier []dpmech.Gaussian
		weakest string
	}{
		"no member":  {[]dpmech.Gaussian{oneMember, outsiders}, "whoever sees all releases and is no member"},
		"one member": {[]dpmech.Gaussian{ownNoise, oneMember}, "whoever sees all releases, together with any one member"},
		"own noise":  {[]dpmech.Gaussian{ownNoise}, "everybody else together"},
	} {
		for _, present := range [][]string{{}, {"-graph", "complete", "-colluders", "1"}} {
			dir, _ := plant(t, present...)
			path, ledger := filepath.Join(dir, "a", "node.json"), filepath.Join(dir, "a", "ledger.json")
			var sum, worst float64
			for i, g := range c.earlier {
				spend(t, ledger, string(rune('k'+i)), 40, g)
				sum, worst = sum+40*g.Rho(), worst+40*g.RhoAll()
			}
			figures := [][2]string{{cli.EpsilonText(dpmech.GDP.Epsilon(sum, 1e-5)), c.weakest}}
			if worst > sum {
				figures = append(figures, [2]string{cli.EpsilonText(dpmech.GDP.Epsilon(worst, 1e-5)), all})
			}
			own := map[bool]string{true: "everybody else together", false: "whoever sees all releases, together with any one member"}[len(present) == 0]
			for _, args := range [][]string{{"status", path}, {"privacy", "-ledger", ledger}, {"inspect", ledger}, {"check", path, "-offline"}} {
				_, text := said(args...)
				text = strings.Join(strings.Fields(text), " ")
				if args[0] == "status" {
					if !strings.Contains(text, ", at delta 1e-05 (gdp), against "+own) {
						t.Errorf("%s, %v: the run has no adversary in\n%s", name, present, text)
					}
					text = text[strings.Index(text, "lifetime"):]
				}
				for _, f := range figures {
					i := strings.Index(text, "epsilon "+f[0])
					if i < 0 || !strings.Contains(text[i:], " against "+f[1]) {
						t.Errorf("%s, %v, %v: no epsilon %s against %s in\n%s", name, present, args, f[0], f[1], text)
					}
				}
				if len(figures) == 1 && args[0] == "status" && strings.Contains(text, all) {
					t.Errorf("%s, %v: two figures in\n%s", name, present, text)
				}
			}
			var object struct {
				Privacy struct {
					Adversary string
					Lifetime  struct {
						Adversary  string
						Epsilon    float64
						AgainstAll *struct{ Epsilon float64 } `json:"against_all"`
					}
				}
			}
			_, out, _ := call("status", path, "-json")
			if err := json.Unmarshal([]byte(out), &object); err != nil {
				t.Fatal(err)
			}
			p, l := object.Privacy, object.Privacy.Lifetime
			if p.Adversary != own || l.Adversary != c.weakest || l.Epsilon != dpmech.GDP.Epsilon(sum, 1e-5) ||
				(l.AgainstAll != nil) != (worst > sum) || l.AgainstAll != nil && l.AgainstAll.Epsilon != dpmech.GDP.Epsilon(worst, 1e-5) {
				t.Errorf("%s, %v: %s", name, present, out)
			}
			// The metrics have a series for each figure.
			file, fleet := ownFiles(t, path)
			st, err := device.Left(file, fleet)
			if err != nil {
				t.Fatal(err)
			}
			metrics := string(monitor.Metrics(*st))
			if n := strings.Count(metrics, "\nspade_edge_lifetime_epsilon{"); n != len(figures) {
				t.Errorf("%s, %v: %d figures of a lifetime in\n%s", name, present, n, metrics)
			}
			for _, f := range figures {
				if !slices.ContainsFunc(strings.Split(metrics, "\n"), func(line string) bool {
					return strings.HasPrefix(line, "spade_edge_lifetime_epsilon{") && strings.Contains(line, `adversary="`+f[1]+`"`)
				}) {
					t.Errorf("%s, %v: no adversary %q in\n%s", name, present, f[1], metrics)
				}
			}
		}
	}
}

// ownFiles reads a node file and its fleet file.
func ownFiles(t *testing.T, path string) (*fleetfile.Node, *fleetfile.File) {
	t.Helper()
	node, err := fleetfile.ReadNode(path)
	if err != nil {
		t.Fatal(err)
	}
	fleet, err := fleetfile.Read(node.Fleet)
	if err != nil {
		t.Fatal(err)
	}
	return node, fleet
}

// A limit over the lifetime is one against all other members together, unless -limit-all says otherwise.
func TestLifetimeLimitIsAgainstAll(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	// reserve makes as many releases as the ledger takes, and returns what they cost.
	reserve := func(path string, g dpmech.Gaussian) (named, all float64) {
		t.Helper()
		ledger, err := state.OpenLedger(path)
		if err != nil {
			t.Fatal(err)
		}
		defer ledger.Close()
		for round := 1; err == nil && round < 10_000; round++ {
			err = ledger.Reserve("run", [32]byte{}, "a", round, g)
		}
		if !errors.Is(err, dpmech.ErrBudget) || ledger.Covers("another", [32]byte{}, "a", 1, g) == nil {
			t.Errorf("%s: %v", path, err)
		}
		life := ledger.Lifetime(1e-5)
		for _, r := range life.Runs {
			all += r.Total().All
		}
		return dpmech.GDP.Epsilon(life.Rho, 1e-5), dpmech.GDP.Epsilon(all, 1e-5)
	}
	plain, other := filepath.Join(dir, "plain"), filepath.Join(dir, "other")
	if code, text := said("privacy", "-new-ledger", plain, "-dataset", "x", "-epsilon", "32"); code != cli.ExitDone ||
		!strings.Contains(text, "epsilon 32 at delta 1e-05 (gdp) against all other members together") {
		t.Errorf("exit code %d, %s", code, text)
	}
	if _, all := reserve(plain, oneMember); all > 32 || all < 31.5 {
		t.Errorf("epsilon %v against all other members together, of 32", all)
	}
	if code, text := said("privacy", "-new-ledger", other, "-dataset", "x", "-epsilon", "10", "-limit-all", "32"); code != cli.ExitDone ||
		!strings.Contains(text, "epsilon 10 at delta 1e-05 (gdp) against the weakest adversary that a run names, and 32 against all other members together") {
		t.Errorf("exit code %d, %s", code, text)
	}
	if named, all := reserve(other, oneMember); named > 10 || all > 32 || named < 9.5 && all < 31.5 {
		t.Errorf("epsilon %v of 10, and %v of 32 against all other members together", named, all)
	}
}

// withLedger is a plant with a model in which b has another ledger, made with a limit.
func withLedger(t *testing.T, epsilon string, more ...string) (dir, model, ledger string) {
	t.Helper()
	dir, _ = plant(t, more...)
	model, ledger = filepath.Join(filepath.Dir(dir), "model.raw"), filepath.Join(dir, "b", "ledger.json")
	if err := os.WriteFile(model, cli.AppendFloats(nil, []float32{1, 0, -1, 0.5, 0.25, 2}), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, end := range []string{"", ".mark"} {
		if err := os.Remove(ledger + end); err != nil {
			t.Fatal(err)
		}
	}
	if code, text := said("privacy", "-new-ledger", ledger, "-dataset", "b", "-epsilon", epsilon); code != cli.ExitDone {
		t.Fatal(text)
	}
	return dir, model, ledger
}

// usedUp is a plant in which ten releases have used up b's ledger, but for what rounding leaves.
func usedUp(t *testing.T, more ...string) (dir, model string) {
	t.Helper()
	g := dpmech.Gaussian{Clip: 1, Sigma: 2}
	epsilon := math.Nextafter(dpmech.GDP.Epsilon(g.Total(10).All, 1e-5)*(1+1e-11), 100)
	dir, model, ledger := withLedger(t, jsonNumber(epsilon), more...)
	spend(t, ledger, "before", 10, g)
	return dir, model
}

// A ledger that has nothing left refuses the next run, and the files stay as they are: nothing left is not a budget that
// is open.
func TestFleetNextOfEmptyLedger(t *testing.T) {
	t.Parallel()
	for _, more := range [][]string{{}, {"-graph", "complete", "-colluders", "1"}} {
		dir, model := usedUp(t, more...)
		before := contents(t, dir)
		for _, args := range [][]string{{}, {"-rounds", "2"}, {"-epsilon", "1"}} {
			code, text := said(append([]string{"fleet", "next", dir, "-from", model, "-run", "2"}, args...)...)
			for _, want := range []string{`the ledger of "b"`, "epsilon 0 is left", "the privacy budget does not cover it", "spade-edge fleet remove", "-new-ledger"} {
				if code != cli.ExitRefused || !strings.Contains(text, want) {
					t.Errorf("%v %v: exit code %d, no %q in %s", more, args, code, want, text)
				}
			}
		}
		if contents(t, dir) != before {
			t.Error("what is refused has changed files")
		}
	}
}

// A run whose members share noise fits into what a ledger leaves against all other members together.
func TestFleetNextFitsLimitAgainstAll(t *testing.T) {
	t.Parallel()
	dir, model, ledger := withLedger(t, "9", "-graph", "complete", "-colluders", "1")
	spend(t, ledger, "before", 10, ownNoise)
	var r fleet.FleetResult
	into(t, &r, cli.ExitDone, "fleet", "next", dir, "-from", model, "-run", "2")
	_, file := ownFiles(t, filepath.Join(dir, "b", "node.json"))
	f := file.Fleet
	total := f.Total(f.Method.Rounds).All + 10*ownNoise.Rho()
	if all := dpmech.GDP.Epsilon(total, 1e-5); all > 9 || all < 8.9 || f.Privacy.PairSigma == 0 {
		t.Errorf("both runs cost epsilon %v of 9, %+v", all, f.Privacy)
	}
	if r.Adversary != f.Privacy.Shared().Adversary() || r.EpsilonAll == nil || !(*r.EpsilonAll > *r.Epsilon) {
		t.Errorf("%+v", r)
	}
	l, err := state.ReadLedger(ledger)
	if err == nil {
		err = l.Covers("2", f.Hash(), "b", f.Method.Rounds, dpmech.Gaussian{Clip: f.Privacy.Clip, Sigma: f.Privacy.Sigma, Shared: f.Privacy.Shared()})
	}
	if err != nil {
		t.Error(err)
	}
}
