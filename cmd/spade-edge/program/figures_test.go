package program

import (
	"crypto/sha256"
	"errors"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"

	"github.com/spade-dfl/spade-edge/dpmech"
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
		err = ledger.Reserve(runID(run, sha256.Sum256([]byte(run)), "a"), round, g)
	}
	if err = errors.Join(err, ledger.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestLifetimeNamesItsAdversary checks the privacy cost over all runs. Every output must name the weakest of the
// adversaries that these runs name. Every output must also have a second cost, against all other members together, even
// if the current run has no pairwise noise.
func TestLifetimeNamesItsAdversary(t *testing.T) {
	t.Parallel()
	arithmetic(t)
	for _, c := range []struct {
		earlier       []dpmech.Gaussian
		weakest, says string
	}{
		{[]dpmech.Gaussian{oneMember, outsiders}, "whoever sees all releases and is no member", "epsilon 3.80 against outsiders, 11.5 with all others"},
		{[]dpmech.Gaussian{ownNoise, oneMember}, "whoever sees all releases, together with any one member", "epsilon 3.80 with any 1 other member, 7.80 with all"},
		{[]dpmech.Gaussian{ownNoise}, "everybody else together", "epsilon 1.54 against everybody else together"},
	} {
		for _, present := range [][]string{{}, {"-graph", "complete", "-colluders", "1"}} {
			dir, _ := plant(t, present...)
			path, ledger := filepath.Join(dir, "a", "node.json"), filepath.Join(dir, "a", "ledger.json")
			var sum, worst float64
			for i, g := range c.earlier {
				spend(t, ledger, string(rune('k'+i)), 40, g)
				sum, worst = sum+40*g.Rho(), worst+40*g.RhoAll()
			}
			own, figures := "everybody else together", []string{c.weakest}
			if len(present) > 0 {
				own = "whoever sees all releases, together with any one member"
			}
			if worst > sum {
				figures = append(figures, "all other members together")
			}
			for _, args := range [][]string{{"status", path}, {"privacy", "-ledger", ledger}, {"check", path, "-offline"}} {
				_, text := said(args...)
				text = strings.Join(strings.Fields(text), " ")
				run := "epsilon 0.00 against everybody else together, at delta 1e-05 (gdp) whole run epsilon "
				if args[0] == "status" && (!strings.Contains(text, run) || len(present) > 0 && !strings.Contains(text, "with any 1 other member")) {
					t.Errorf("%s, %v: the run has no adversary in\n%s", c.weakest, present, text)
				}
				_, life, _ := strings.Cut(text, "lifetime")
				if !strings.Contains(text, c.says) || args[0] == "status" && (!strings.Contains(life, c.says) || len(figures) == 1 && strings.Contains(life, "with all")) {
					t.Errorf("%s, %v, %v: no %q alone in\n%s", c.weakest, present, args, c.says, text)
				}
			}
			var st monitor.Status
			into(t, &st, cli.ExitDone, "status", path)
			l := st.Privacy.Lifetime
			if st.Privacy.Adversary != own || l.Adversary != c.weakest || float64(l.Epsilon) != dpmech.GDP.Epsilon(sum, 1e-5) ||
				(l.AgainstAll != nil) != (worst > sum) || l.AgainstAll != nil && float64(l.AgainstAll.Epsilon) != dpmech.GDP.Epsilon(worst, 1e-5) {
				t.Errorf("%s, %v: %+v", c.weakest, present, l)
			}
			// The metrics have one time series for each privacy cost.
			metrics := string(monitor.Metrics(st))
			found := regexp.MustCompile(`\nspade_edge_lifetime_epsilon\{.*adversary="([^"]*)"`).FindAllStringSubmatch(metrics, -1)
			if len(found) != len(figures) || found[0][1] != figures[0] || found[len(found)-1][1] != figures[len(figures)-1] {
				t.Errorf("%s, %v: adversaries %q of a lifetime, want %q", c.weakest, present, found, figures)
			}
		}
	}
}
