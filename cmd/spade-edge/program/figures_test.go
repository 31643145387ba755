package program

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk/device"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/monitor"
	"github.com/spade-dfl/spade-edge/sdk/state"
)

var (
	outsiders = dpmech.Gaussian{Clip: 1, Sigma: 8, Shared: dpmech.Shared{Sigma: 32, Effective: 32}}
	oneMember = dpmech.Gaussian{Clip: 1, Sigma: 8, Shared: dpmech.Shared{Sigma: 16, Effective: 16, Colluders: 1}}
	ownNoise  = dpmech.Gaussian{Clip: 1, Sigma: 32}
)

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

// Lifetime figures cover all runs, not only the current one. Every output names the weakest adversary of all runs, and
// has a second figure against all other members together, even if the current run has no pairwise noise.
func TestLifetimeNamesItsAdversary(t *testing.T) {
	t.Parallel()
	const all = "all other members together"
	for name, c := range map[string]struct {
		earlier []dpmech.Gaussian
		weakest string
		says    string
	}{
		"no member": {[]dpmech.Gaussian{oneMember, outsiders}, "whoever sees all releases and is no member",
			"epsilon 3.80 against outsiders, 11.5 with all others"},
		"one member": {[]dpmech.Gaussian{ownNoise, oneMember}, "whoever sees all releases, together with any one member",
			"epsilon 3.80 with any 1 other member, 7.80 with all"},
		"own noise": {[]dpmech.Gaussian{ownNoise}, "everybody else together", "epsilon 1.54 against everybody else together"},
	} {
		for _, present := range [][]string{{}, {"-graph", "complete", "-colluders", "1"}} {
			dir, _ := plant(t, present...)
			path, ledger := filepath.Join(dir, "a", "node.json"), filepath.Join(dir, "a", "ledger.json")
			var sum, worst float64
			for i, g := range c.earlier {
				spend(t, ledger, string(rune('k'+i)), 40, g)
				sum, worst = sum+40*g.Rho(), worst+40*g.RhoAll()
			}
			figures := []string{c.weakest}
			if worst > sum {
				figures = append(figures, all)
			}
			own := map[bool]string{true: "everybody else together", false: "whoever sees all releases, together with any one member"}[len(present) == 0]
			for _, args := range [][]string{{"status", path}, {"privacy", "-ledger", ledger}, {"check", path, "-offline"}} {
				_, text := said(args...)
				text = strings.Join(strings.Fields(text), " ")
				if args[0] == "status" {
					if !strings.Contains(text, "epsilon 0.00 against everybody else together, at delta 1e-05 (gdp) whole run epsilon ") ||
						len(present) > 0 && !strings.Contains(text, "with any 1 of ") {
						t.Errorf("%s, %v: the run has no adversary in\n%s", name, present, text)
					}
					text = text[strings.Index(text, "lifetime"):]
				}
				if !strings.Contains(text, c.says) {
					t.Errorf("%s, %v, %v: no %q in\n%s", name, present, args, c.says, text)
				}
				if len(figures) == 1 && args[0] == "status" && strings.Contains(text, "with all") {
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
					return strings.HasPrefix(line, "spade_edge_lifetime_epsilon{") && strings.Contains(line, `adversary="`+f+`"`)
				}) {
					t.Errorf("%s, %v: no adversary %q in\n%s", name, present, f, metrics)
				}
			}
		}
	}
}

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

// A lifetime limit is against all other members together, unless -limit-all is given.
func TestLifetimeLimitIsAgainstAll(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	// reserve makes as many releases as the ledger allows and returns their cost.
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
