package program

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
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

// object runs the command with -json and decodes the output, which must be one JSON object.
func object[T any](t *testing.T, args ...string) T {
	t.Helper()
	code, out, log := call(append(append([]string{"privacy"}, args...), "-json")...)
	if code != cli.ExitDone || log != "" {
		t.Fatalf("%v: exit code %d: %s", args, code, log)
	}
	dec := json.NewDecoder(strings.NewReader(out))
	dec.DisallowUnknownFields()
	var v T
	if err := dec.Decode(&v); err != nil || dec.More() {
		t.Fatalf("%v: %v in %s", args, err, out)
	}
	return v
}

// The manual's planning example, in each accounting and in both directions.
func TestPrivacyPlan(t *testing.T) {
	question := []string{"-rounds", "50", "-clip", "1", "-epsilon", "8", "-delta", "1e-5"}
	for acc, want := range map[string]string{"gdp": "8.489", "paper": "9.763", "zcdp": "9.018"} {
		p := object[privacy.Plan](t, append(question, "-accounting", acc)...)
		if got := fmt.Sprintf("%.3f", p.Sigma); got != want || p.Rounds != 50 || p.Clip != 1 || p.Delta != 1e-5 {
			t.Errorf("%s: %+v, want sigma %s", acc, p, want)
		}
		stated := map[string]float64{"gdp": p.EpsilonGDP, "paper": p.EpsilonPaper, "zcdp": p.EpsilonZCDP}[acc]
		if stated > 8 || stated < 8-1e-4 || math.Abs(p.Rho-100/(p.Sigma*p.Sigma)) > 1e-9 || p.Mu != math.Sqrt(2*p.Rho) {
			t.Errorf("%s: %+v, want epsilon 8", acc, p)
		}
		if back := object[privacy.Plan](t, "-rounds", "50", "-sigma", jsonNumber(p.Sigma)); back != p {
			t.Errorf("%s: back from sigma %+v, want %+v", acc, back, p)
		}
		if back := object[privacy.Plan](t, "-sigma", jsonNumber(p.Sigma), "-epsilon", "8", "-accounting", acc); back != p {
			t.Errorf("%s: back from sigma and epsilon %+v, want %+v", acc, back, p)
		}
	}
	if p := object[privacy.Plan](t, question...); fmt.Sprintf("%.3f", p.Sigma) != "8.489" {
		t.Errorf("without -accounting sigma is %v", p.Sigma)
	}
	if a, b := object[privacy.Plan](t, question...), object[privacy.Plan](t, append(question, "-clip", "0.25")...); math.Abs(a.Sigma/b.Sigma-4) > 1e-4 {
		t.Errorf("sigma %v for clip 1, %v for 0.25", a.Sigma, b.Sigma)
	}
	var raw map[string]any
	_, out, _ := call(append(append([]string{"privacy"}, question...), "-json")...)
	if err := json.Unmarshal([]byte(out), &raw); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"sigma", "rho", "epsilon_paper", "epsilon_zcdp", "epsilon_gdp"} {
		if _, ok := raw[name].(float64); !ok {
			t.Errorf("no number %s in %s", name, out)
		}
	}
	if _, out, _ := call("privacy", "-rounds", "50", "-epsilon", "8"); !strings.Contains(out, "8.48853") || !strings.Contains(out, "8.0000") {
		t.Errorf("no sigma or epsilon in\n%s", out)
	}
}

// An epsilon is rounded up, and the output also has the one that other libraries report.
func TestPrivacyEpsilonIsNeverRoundedDown(t *testing.T) {
	for _, c := range []struct {
		args, want string
	}{
		{"-rounds 1 -clip 1 -sigma 100000 -delta 1e-6", "epsilon 0.0000252 against everybody else together, at delta 1e-06 "},
		{"-rounds 1 -clip 1 -sigma 100000 -delta 1e-6", "exact (gdp) 0.0001; as zCDP 0.0001; by the paper's formula 0.0002"},
		{"-rounds 50 -clip 1 -epsilon 8", "epsilon 8.00 against everybody else together, at delta 1e-05 "},
		{"-rounds 50 -clip 1 -epsilon 8", "exact (gdp) 8.0000; as zCDP 8.5993; by the paper's formula 9.3824"},
		{"-rounds 50 -clip 1 -epsilon 8", "zero-out, a weaker statement, 3.5472"},
	} {
		code, out, log := call(append([]string{"privacy"}, strings.Fields(c.args)...)...)
		if code != cli.ExitDone || !strings.Contains(out, c.want) {
			t.Errorf("%s: exit code %d, no %q in\n%s%s", c.args, code, c.want, out, log)
		}
	}
	var printed [3]float64
	for _, sigma := range []string{"3", "7.7", "12345", "900000"} {
		args := []string{"-rounds", "3", "-sigma", sigma, "-delta", "1e-7"}
		p := object[privacy.Plan](t, args...)
		_, out, _ := call(append([]string{"privacy"}, args...)...)
		_, rest, _ := strings.Cut(out, "exact (gdp)")
		_, err := fmt.Sscanf(rest, " %f; as zCDP %f; by the paper's formula %f", &printed[0], &printed[1], &printed[2])
		if err != nil {
			t.Fatalf("%v in %s", err, out)
		}
		for i, exact := range []float64{p.EpsilonGDP, p.EpsilonZCDP, p.EpsilonPaper} {
			if printed[i] < exact*(1-1e-9) || printed[i] > exact+1e-4*(1+1e-9) {
				t.Errorf("sigma %s: %v is printed as %v", sigma, exact, printed[i])
			}
		}
	}
}

// A privacy filter accepts everything that was planned and, if rounds were given, nothing more.
func TestPrivacyPlanAgreesWithFilter(t *testing.T) {
	for _, acc := range []string{"gdp", "zcdp", "paper"} {
		for _, args := range [][]string{
			{"-rounds", "7", "-epsilon", "0.5"}, {"-rounds", "321", "-epsilon", "3.7", "-clip", "0.045"},
			{"-sigma", "20", "-epsilon", "8"}, {"-sigma", "0.7", "-epsilon", "55"}, {"-sigma", "8", "-epsilon", "2.5", "-delta", "1e-9"},
		} {
			p := object[privacy.Plan](t, append(args, "-accounting", acc)...)
			limit := dpmech.Limit{Delta: p.Delta}
			if _, err := fmt.Sscan(args[3], &limit.Epsilon); err != nil {
				t.Fatal(err)
			}
			_ = limit.Accounting.UnmarshalText([]byte(acc))
			f, err := dpmech.NewFilter(&limit)
			if err != nil {
				t.Fatal(err)
			}
			g := dpmech.Gaussian{Clip: p.Clip, Sigma: p.Sigma}
			for round := 1; round <= p.Rounds; round++ {
				if err := f.Reserve(round, g); err != nil {
					t.Fatalf("%v, %s: %v", args, acc, err)
				}
			}
			if f.Total().Rho != p.Rho {
				t.Errorf("%v, %s: planned rho %v, spent %v", args, acc, p.Rho, f.Total().Rho)
			}
			if args[0] == "-sigma" && f.Check(p.Rounds+1, g) == nil {
				t.Errorf("%v, %s: %d rounds, and one more fits", args, acc, p.Rounds)
			}
		}
	}
	code, out, log := call("privacy", "-sigma", "0.1", "-epsilon", "1")
	if code != cli.ExitRefused || out != "" || !strings.Contains(log, "not even one release") {
		t.Errorf("exit code %d, %q, %q", code, out, log)
	}
}

// Two runs on one data set, through the files that the command reads.
func TestPrivacyFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "patients.ledger")
	life := object[privacy.LifetimeLeft](t, "-new-ledger", path, "-dataset", "patients", "-epsilon", "16", "-accounting", "zcdp")
	if life.Dataset != "patients" || *life.Limit != (dpmech.Limit{Epsilon: 16, Delta: 1e-5, Accounting: dpmech.ZCDP, EpsilonAll: 16}) || life.Rho != 0 || life.Ledger.Seq != 0 ||
		life.Left.Figures[0].Epsilon != 16 || life.Left.Rounds != nil {
		t.Errorf("%+v", life)
	}
	ledger, err := state.OpenLedger(path)
	if err != nil {
		t.Fatal(err)
	}
	defer ledger.Close()
	fleet := sha256.Sum256([]byte("fleet"))
	g := dpmech.Gaussian{Clip: 1, Sigma: 8}
	certificate := func(run string) string {
		filter, err := dpmech.NewFilter(nil)
		if err != nil {
			t.Fatal(err)
		}
		for round := 1; round <= 20; round++ {
			if err := ledger.Reserve(run, fleet, "a", round, g); err != nil {
				t.Fatal(err)
			}
			if err := filter.Reserve(round, g); err != nil {
				t.Fatal(err)
			}
		}
		id := dpmech.RunID{Run: run, Fleet: hex.EncodeToString(fleet[:]), Member: "a"}
		c, err := dpmech.NewCertificate(dpmech.About{RunID: id, Sampler: "exact"}, 1e-5, filter, ledger.Lifetime(1e-5))
		if err != nil {
			t.Fatal(err)
		}
		b, err := c.JSON()
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(dir, run+".json")
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	first, second := certificate("tuning"), certificate("final")
	for _, args := range [][]string{{"-verify", second}, {"-verify", second, "-ledger", path}} {
		v := object[privacy.Verification](t, args...)
		if !v.Verified || v.LedgerChecked != (len(args) == 4) || v.FleetChecked || v.Certificate.Rho != 0.625 || v.Certificate.Lifetime.Rho != 1.25 {
			t.Errorf("%v: %+v", args, v)
		}
	}
	code, out, log := call("privacy", "-verify", first, "-ledger", path) // it has grown since
	if code != cli.ExitDone || log != "" || !strings.Contains(out, "PRIVACY CERTIFICATE") || !strings.Contains(out, "20 then, 40 now") ||
		!strings.Contains(out, "Nothing here shows who wrote the certificate") || !strings.Contains(out, "signed          NO") {
		t.Errorf("exit code %d\n%s%s", code, out, log)
	}
	life = object[privacy.LifetimeLeft](t, "-ledger", path)
	if life.Rho != 1.25 || len(life.Runs) != 2 || life.Ledger != ledger.Head() {
		t.Errorf("%+v", life)
	}
	code, out, _ = call("privacy", "-ledger", path, "-delta", "1e-6")
	for _, want := range []string{"tuning", "final", "40, every line in order; runs: 2", "delta 1e-06", "epsilon 16 at delta 1e-05 (zcdp)", ledger.Head().Hash} {
		if code != cli.ExitDone || !strings.Contains(out, want) {
			t.Errorf("exit code %d, no %q in\n%s", code, want, out)
		}
	}

	// Errors, with exit code 1 and nothing on standard output.
	text, err := os.ReadFile(second)
	if err != nil {
		t.Fatal(err)
	}
	forged := filepath.Join(dir, "forged.json")
	if err := os.WriteFile(forged, []byte(strings.ReplaceAll(string(text), `"sigma": 8`, `"sigma": 4`)), 0o600); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(dir, "other.ledger")
	if code, out, log := call("privacy", "-new-ledger", other, "-dataset", "other"); code != cli.ExitDone || !strings.Contains(out, "limit          none") {
		t.Fatalf("exit code %d\n%s%s", code, out, log)
	}
	for want, args := range map[string][]string{
		"final.json is a certificate, want a ledger":               {"-ledger", second},
		"patients.ledger is a ledger, want a certificate, such as": {"-verify", path},
	} {
		if code, _, log := call(append([]string{"privacy"}, args...)...); code != cli.ExitUsage || !strings.Contains(log, want) {
			t.Errorf("%v: exit code %d, want 64 with %q\n%s", args, code, want, log)
		}
	}
	for _, c := range []struct {
		want string
		args []string
	}{
		{"this run: rho is stated as 0.625, and is 2.5", []string{"-verify", forged}},
		{"another ledger", []string{"-verify", second, "-ledger", other}},
		{"no such file", []string{"-verify", filepath.Join(dir, "none")}},
		{"never started automatically", []string{"-ledger", filepath.Join(dir, "none")}},
		{"never started automatically", []string{"-verify", second, "-ledger", filepath.Join(dir, "none")}},
		{"never overwritten", []string{"-new-ledger", path, "-dataset", "patients"}},
		{"printable", []string{"-new-ledger", filepath.Join(dir, "new"), "-dataset", "a\tb"}},
	} {
		code, out, log := call(append([]string{"privacy"}, c.args...)...)
		if code != cli.ExitFailed || out != "" || !strings.Contains(log, c.want) {
			t.Errorf("%v: exit code %d, want 1 with %q\n%s%s", c.args, code, c.want, out, log)
		}
	}
}

// The reported remainder can be released, and nothing more.
func TestPrivacyLeft(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "ledger")
	object[privacy.LifetimeLeft](t, "-new-ledger", path, "-dataset", "patients", "-epsilon", "16")
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
		if err := ledger.Reserve("last", f.Hash(), "a", round, g); err != nil {
			t.Fatalf("%d rounds are left, and round %d is refused: %v", *left.Rounds, round, err)
		}
	}
	if err := ledger.Reserve("last", f.Hash(), "a", *left.Rounds+1, g); !errors.Is(err, dpmech.ErrBudget) {
		t.Errorf("%d rounds are left, and then another: %v", *left.Rounds, err)
	}
	again := object[privacy.LifetimeLeft](t, "-ledger", path, "-fleet", filepath.Join(dir, "fleet.json")).Left
	if *again.Rounds != 0 || again.Made != *left.Rounds || *left.Rounds < 10 {
		t.Errorf("%+v, then %+v", left, again)
	}
}
