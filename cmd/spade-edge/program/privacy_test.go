package program

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/privacy"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/state"
)

// object runs the privacy command with args and decodes its JSON output.
func object[T any](t *testing.T, args ...string) (v T) {
	t.Helper()
	into(t, &v, cli.ExitDone, with([]string{"privacy"}, args...)...)
	return v
}

// TestPrivacyPlan checks that any two of rounds, sigma and epsilon determine the third. A privacy filter must accept
// every planned release. If the plan chose the number of rounds, the filter must refuse one more release.
func TestPrivacyPlan(t *testing.T) {
	for _, acc := range []string{"gdp", "zcdp", "paper"} {
		for _, flags := range []string{"-rounds 50 -epsilon 8", "-rounds 7 -epsilon 0.5", "-rounds 321 -epsilon 3.7 -clip 0.045",
			"-sigma 20 -epsilon 8", "-sigma 0.7 -epsilon 55", "-sigma 8 -epsilon 2.5 -delta 1e-9"} {
			args := strings.Fields(flags)
			p := object[privacy.Plan](t, with(args, "-accounting", acc)...)
			limit := dpmech.Limit{Delta: p.Delta}
			_, err := fmt.Sscan(args[3], &limit.Epsilon)
			_ = limit.Accounting.UnmarshalText([]byte(acc))
			f, other := dpmech.NewFilter(&limit)
			if err = errors.Join(err, other); err != nil {
				t.Fatal(err)
			}
			g := dpmech.Gaussian{Clip: p.Clip, Sigma: p.Sigma}
			for round := 1; round <= p.Rounds; round++ {
				if err := f.Reserve(round, g); err != nil {
					t.Fatalf("%s, %s: %v", flags, acc, err)
				}
			}
			stated := map[string]float64{"gdp": p.EpsilonGDP, "paper": p.EpsilonPaper, "zcdp": p.EpsilonZCDP}[acc]
			if f.Total().Rho != p.Rho || stated > limit.Epsilon || math.Abs(p.Rho/(2*float64(p.Rounds)*p.Clip*p.Clip/(p.Sigma*p.Sigma))-1) > 1e-9 ||
				p.Mu != math.Sqrt(2*p.Rho) {
				t.Errorf("%s, %s: %+v, and spent rho %v", flags, acc, p, f.Total().Rho)
			}
			if args[0] == "-sigma" {
				if f.Check(p.Rounds+1, g) == nil {
					t.Errorf("%s, %s: %d rounds, and one more fits", flags, acc, p.Rounds)
				}
				continue
			}
			same := []string{"-sigma", jsonNumber(p.Sigma), "-clip", jsonNumber(p.Clip)}
			back, third := object[privacy.Plan](t, with(same, args[:2]...)...), object[privacy.Plan](t, with(same, "-epsilon", args[3], "-accounting", acc)...)
			if back != p || third != p || stated < limit.Epsilon*(1-1e-4) {
				t.Errorf("%s, %s: %+v, from sigma %+v and %+v", flags, acc, p, back, third)
			}
		}
	}
}

// TestPrivacyEpsilonIsNeverRoundedDown checks that every formatted epsilon is rounded up.
func TestPrivacyEpsilonIsNeverRoundedDown(t *testing.T) {
	var printed [3]float64
	for _, sigma := range []string{"3", "7.7", "12345", "900000"} {
		args := []string{"-rounds", "3", "-sigma", sigma, "-delta", "1e-7"}
		p := object[privacy.Plan](t, args...)
		_, out, _ := call(with([]string{"privacy"}, args...)...)
		_, rest, _ := strings.Cut(out, "exact (gdp)")
		if _, err := fmt.Sscanf(rest, " %f; as zCDP %f; by the paper's formula %f", &printed[0], &printed[1], &printed[2]); err != nil {
			t.Fatalf("%v in %s", err, out)
		}
		for i, exact := range []float64{p.EpsilonGDP, p.EpsilonZCDP, p.EpsilonPaper} {
			if printed[i] < exact*(1-1e-9) || printed[i] > exact+1e-4*(1+1e-9) {
				t.Errorf("sigma %s: %v is printed as %v", sigma, exact, printed[i])
			}
		}
	}
}

// TestPrivacyLeft checks that a ledger accepts exactly as many rounds as the program reports as remaining.
func TestPrivacyLeft(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "ledger")
	object[privacy.LifetimeLeft](t, "-new-ledger", path, "-dataset", "patients", "-epsilon", "16", "-never-used")
	ledger, err := state.OpenLedger(path)
	if err != nil {
		t.Fatal(err)
	}
	defer ledger.Close()
	g := dpmech.Gaussian{Clip: 1, Sigma: 8}
	f := &sdk.Fleet{Run: "last", Dim: 1, Members: []string{"a"}, Privacy: sdk.Privacy{Clip: 1, Sigma: 8, Delta: 1e-5},
		Method: sdk.Method{Rounds: 5, Tau: 1, Rho: 1, Gain: 0.5, Eta: []float64{1}, Mu: []float64{1}}}
	members := []fleetfile.Member{{Name: "a", Keys: []ed25519.PublicKey{ed25519.NewKeyFromSeed(make([]byte, 32)).Public().(ed25519.PublicKey)}}}
	if err := (&fleetfile.File{Fleet: f, Members: members}).Write(filepath.Join(dir, "fleet.json")); err != nil {
		t.Fatal(err)
	}
	left := object[privacy.LifetimeLeft](t, "-ledger", path, "-fleet", filepath.Join(dir, "fleet.json")).Left
	for round := 1; round <= *left.Rounds; round++ {
		if err := ledger.Reserve(runID("last", f.Hash(), "a"), round, g); err != nil {
			t.Fatalf("%d rounds are left, and round %d is refused: %v", *left.Rounds, round, err)
		}
	}
	if err := ledger.Reserve(runID("last", f.Hash(), "a"), *left.Rounds+1, g); !errors.Is(err, dpmech.ErrBudget) {
		t.Errorf("%d rounds are left, and then another: %v", *left.Rounds, err)
	}
	again := object[privacy.LifetimeLeft](t, "-ledger", path, "-fleet", filepath.Join(dir, "fleet.json")).Left
	if *again.Rounds != 0 || again.Made != *left.Rounds || *left.Rounds < 10 {
		t.Errorf("%+v, then %+v", left, again)
	}
}
