package program

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/fleet"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/node"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/monitor"
)

// Conflicts of the flags of pairwise noise and of mixing.
func TestWrongSharing(t *testing.T) {
	dir := t.TempDir()
	ledger := filepath.Join(dir, "ledger.json")
	all := []mistake{
		{cli.ExitUsage, `-colluders 2: "node-0" shares noise with too few members (2)`, strings.Fields("-colluders 2 -graph ring -partners 0")},
		{cli.ExitUsage, "want more of them (-partners or -graph), or a smaller number", strings.Fields("-colluders 7 -graph ring")},
		{cli.ExitUsage, `-colluders 1: "node-1" shares noise with too few members (1)`, strings.Fields("-colluders 1 -graph star -partners 0")},
		{cli.ExitUsage, `-colluders 0: "node-0" shares noise with too few members (0)`, strings.Fields("-colluders 0 -nodes 1")},
		{cli.ExitUsage, "-colluders is -1, want a whole number, 0..", strings.Fields("-colluders -1")},
		{cli.ExitUsage, "-mixing is -1, want a whole number, 0..65536", strings.Fields("-mixing -1")},
		{cli.ExitUsage, "-robust is 0.5, want 0 (no bound), or 1..1e6", strings.Fields("-robust 0.5")},
		{cli.ExitUsage, "-robust is -1, want 0 (no bound), or 1..1e6", strings.Fields("-robust -1")},
		{cli.ExitUsage, `invalid value "on" for flag -robust: want a number, or off`, strings.Fields("-robust on")},
		{cli.ExitUsage, `-payload is "message", want release, as method.robust is 2`, strings.Fields("-robust 2 -payload message")},
		{cli.ExitUsage, "-robust is NaN, want 0 (no bound), or 1..1e6", strings.Fields("-robust NaN")},
		{cli.ExitUsage, "-mixing is 65537, want a whole number, 0..65536", strings.Fields("-mixing 65537")},
		{cli.ExitUsage, "-pair-sigma needs -colluders", strings.Fields("-pair-sigma 1 -sigma 1")},
		{cli.ExitUsage, "-limit-all needs -colluders", strings.Fields("-limit-all 9")},
		{cli.ExitUsage, "-absent needs -colluders", strings.Fields("-absent 1")},
		{cli.ExitUsage, "-partners needs -colluders", strings.Fields("-partners 2")},
		{cli.ExitUsage, "-partners is 1, want 0 (neighbors share), or a whole number, 2..1023", strings.Fields("-colluders 1 -partners 1")},
		{cli.ExitUsage, "-partners is 8, want a regular graph of 8 members", strings.Fields("-colluders 1 -partners 8")},
		{cli.ExitUsage, "-absent is -1, want a whole number, 0..", strings.Fields("-colluders 1 -absent -1")},
		{cli.ExitUsage, `-colluders 1 and -absent 1: "node-0" shares noise with too few members (2)`,
			strings.Fields("-colluders 1 -absent 1 -partners 2")},
		{cli.ExitUsage, "-sigma and -pair-sigma go together", strings.Fields("-colluders 1 -sigma 1")},
		{cli.ExitUsage, "-sigma and -pair-sigma go together", strings.Fields("-colluders 1 -pair-sigma 1")},
		{cli.ExitUsage, "-pair-sigma: shared sigma is 3, want sigma (1) times a power of two, 2^-4..2^10",
			strings.Fields("-colluders 1 -pair-sigma 3 -sigma 1")},
		{cli.ExitUsage, "-pair-sigma is 0, want more than 0", strings.Fields("-colluders 1 -pair-sigma 0 -sigma 1")},
		{cli.ExitUsage, "-limit-all is 7, want 0 (no limit), or at least epsilon_limit (8)", strings.Fields("-colluders 1 -graph complete -limit-all 7")},
		{cli.ExitUsage, "-limit-all is -1, want 0 (no limit), or more than 0", strings.Fields("-colluders 1 -limit-all -1")},
		{cli.ExitUsage, "-limit-all is 9, want 0 (no limit), or at least epsilon_limit (0), which is needed with it",
			strings.Fields("-colluders 1 -graph complete -limit-all 9 -sigma 1 -pair-sigma 1")},
		{cli.ExitUsage, "-non-private and -colluders cannot be combined", strings.Fields("-colluders 1 -non-private")},
		{cli.ExitUsage, "-non-private and -pair-sigma cannot be combined", strings.Fields("-pair-sigma 1 -non-private")},
		{cli.ExitUsage, "-non-private and -limit-all cannot be combined", strings.Fields("-limit-all 9 -non-private")},
		{3, "-limit-all 8.5: refused, the privacy budget does not cover it: against all other members together",
			strings.Fields("-colluders 1 -graph complete -limit-all 8.5")},
	}
	var here []mistake
	for _, c := range all {
		for _, command := range []string{"simulate", "plan", "demo", "init"} {
			if command == "demo" && strings.Contains(c.want, "-limit-all") { // its epsilon differs
				continue
			}
			args := []string{command}
			if command == "init" {
				args = append(args, filepath.Join(dir, "made"))
				if strings.Contains(strings.Join(c.args, " "), "-nodes") {
					c.args = []string{"-colluders", "0", "-n", "1"}
				} else {
					args = append(args, "-n", "8")
				}
			} else if !strings.Contains(strings.Join(c.args, " "), "-nodes") {
				args = append(args, "-nodes", "8")
			}
			here = append(here, mistake{c.code, c.want, append(args, c.args...)})
		}
	}
	wrongUse(t, dir, append(here,
		mistake{cli.ExitUsage, "-limit-all cannot be combined with -ledger", []string{"privacy", "-ledger", ledger, "-limit-all", "9"}},
		mistake{cli.ExitUsage, "-limit-all is 9, want at least -epsilon (0)", []string{"privacy", "-new-ledger", ledger, "-dataset", "x", "-limit-all", "9"}},
		mistake{cli.ExitUsage, "-limit-all is 9, want at least -epsilon (10)", []string{"privacy", "-new-ledger", ledger, "-dataset", "x", "-limit-all", "9", "-epsilon", "10"}},
	))
}

// Pairwise noise is opt-in: without -colluders a run is unchanged. With it, the output has both epsilons, each with
// its adversary.
func TestSimulateSharing(t *testing.T) {
	t.Parallel()
	args := strings.Fields("simulate -nodes 8 -graph complete -rounds 6 -cooldown 3 -tau 2")
	plain := outcome(t, args...)
	if p := plain.Privacy; p.AgainstAll != nil || p.PairSigma != 0 || p.Adversary != "everybody else together" || plain.Mixing != 0 {
		t.Errorf("without the flag: %+v", p)
	}
	args = with(args, "-colluders", "1", "-mixing", "2", "-limit-all", "1000")
	r := outcome(t, args...)
	p := r.Privacy
	if p.AgainstAll == nil || p.EpsilonGDP > 8 || p.AgainstAll.EpsilonGDP <= 8 || p.Colluders != 1 || p.Sigma >= plain.Privacy.Sigma ||
		p.EffectiveSigma <= p.Sigma || p.Adversary != (dpmech.Shared{Sigma: 1, Colluders: 1}).Adversary() || r.Mixing != 2 {
		t.Errorf("%+v", p)
	}
	if r.ScalarsSent != plain.ScalarsSent/9*(6*3+3) || r.Queries != plain.Queries {
		t.Errorf("%d numbers and %d losses, %d and %d without mixing", r.ScalarsSent, r.Queries, plain.ScalarsSent, plain.Queries)
	}
	code, out, log := call(args...)
	for _, want := range []string{
		" with any 1 of ", " against all other members together\n", " shared with each neighbor, ",
		"release  6 of 21  learning round 2 of 6 (mixing 2 of 2)  ", "release 19 of 21  cooling down  ",
	} {
		if code != cli.ExitDone || !strings.Contains(strings.ReplaceAll(out+log, " (simulated: the noise came from the seed)", ""), want) {
			t.Errorf("exit code %d, no %q in\n%s%s", code, want, log, out)
		}
	}
	// Noise for a member that may disappear equals noise for one more colluder, but the named adversary differs.
	absent, more := outcome(t, with(args[:11:11], "-colluders", "1", "-absent", "2")...).Privacy, outcome(t, with(args[:11:11], "-colluders", "3")...).Privacy
	if absent.Sigma != more.Sigma || absent.EffectiveSigma != more.EffectiveSigma || absent.Adversary != p.Adversary+", if at most 2 members vanish" {
		t.Errorf("with two absent %+v, with two more colluders %+v", absent, more)
	}
	// Set manually, the same split gives the same noise.
	hand := outcome(t, with(args[:11:11], "-colluders", "1", "-mixing", "2", "-sigma", jsonNumber(p.Sigma), "-pair-sigma", jsonNumber(p.PairSigma),
		"-clip", jsonNumber(p.Clip))...)
	if hand.Privacy.EffectiveSigma != p.EffectiveSigma || hand.Transcript == "" || hand.Privacy.Rho != p.Rho {
		t.Errorf("by hand %+v, want %+v", hand.Privacy, p)
	}
}

// A fleet with pairwise noise and mixing, from init to the certificate: each command prints the cost against both
// adversaries, and the files agree.
func TestSharingFleet(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "ward")
	code, out, log := call("init", dir, "-nodes", "a,b,c", "-graph", "complete", "-hosts", ownPort()+","+ownPort()+","+ownPort(), "-colluders", "1",
		"-mixing", "2", "-rounds", "4", "-cooldown", "3", "-limit-all", "60", "-json")
	var made fleet.InitResult
	if err := json.Unmarshal([]byte(out), &made); code != cli.ExitDone || err != nil || made.Privacy.AgainstAll == nil ||
		made.Privacy.AgainstAll.EpsilonGDP <= made.Privacy.EpsilonGDP || !strings.Contains(made.Privacy.Adversary, "any one member") {
		t.Fatalf("exit code %d, %v: %s%s", code, err, out, log)
	}
	file, err := fleetfile.Read(made.Fleet)
	if err != nil {
		t.Fatal(err)
	}
	if p := file.Fleet.Privacy; p.Colluders != 1 || p.LimitAll != 60 || p.PairSigma == 0 || file.Fleet.Method.Mixing != 2 {
		t.Errorf("%+v", p)
	}
	says := func(words []string, args ...string) {
		t.Helper()
		code, text := said(args...)
		text += strings.Join(strings.Fields(text), " ")
		for _, want := range words {
			if code != cli.ExitDone || !strings.Contains(text, want) {
				t.Errorf("%q: exit code %d, no %q in\n%s", args, code, want, text)
			}
		}
	}
	both := []string{" against outsiders, 8.00 with any 1 of 2 others, ", " with all, at delta "}
	path, ledger := filepath.Join(dir, "a", "node.json"), filepath.Join(dir, "a", "ledger.json")
	says([]string{" against outsiders, 8.00 with any 1 of 2 others, "}, "check", path, "-offline")
	var nodes []*process
	for _, name := range []string{"a", "b", "c"} {
		nodes = append(nodes, start(t, "run", filepath.Join(dir, name, "node.json"), "-json"))
	}
	var a node.RunResult
	for i, p := range nodes {
		if r := p.outcome(t); i == 0 {
			a = r
		}
	}
	if a.Rounds != 15 || a.Privacy.AgainstAll == nil || a.Privacy.EpsilonGDP != made.Privacy.EpsilonGDP || a.Privacy.AgainstAll.EpsilonGDP != made.Privacy.AgainstAll.EpsilonGDP {
		t.Errorf("%+v, %+v", a, a.Privacy)
	}
	if text := nodes[0].log.String(); !strings.Contains(text, "release  5 of 15  learning round 2 of 4 (mixing 1 of 2)  epsilon ") ||
		!strings.Contains(text, " against any 1 other member at delta ") {
		t.Errorf("progress:\n%s", text)
	}
	says(append(both, "release        15 of 15, cooling down; 3 of cool-down at the end", "; allowed: 8 against whoever sees all releases, together with "+
		"any one member, 60 against all other members together"), "status", path)
	var st monitor.Status
	_, out, _ = call("status", path, "-json")
	if err := json.Unmarshal([]byte(out), &st); err != nil || st.Mixing != 2 || st.Rounds != 12 || st.Privacy.AgainstAll == nil ||
		float64(st.Privacy.AgainstAll.Rho) != a.Privacy.AgainstAll.Rho || float64(st.Privacy.AgainstAll.Epsilon) != made.Privacy.AgainstAll.EpsilonGDP ||
		st.Privacy.Lifetime.AgainstAll.Epsilon != st.Privacy.AgainstAll.Epsilon || st.Privacy.AgainstAll.Limit != 60 {
		t.Errorf("%v: %s", err, out)
	}
	says([]string{"epsilon 8.00 with any 1 other member, ", " with all, at delta ", "  rho      cost\n"},
		"privacy", "-ledger", ledger)
	says(append(both, "rounds of mixing after each release", "X25519", "leaves as much pairwise noise as the certificate states"), "privacy", "-verify", a.Certificate,
		"-fleet", made.Fleet, "-ledger", ledger)
	// A fleet file that claims more than the graph gives, and a certificate with another split of the noise.
	text := readFile(t, made.Fleet)
	for from, to := range map[string]string{`"colluders": 1`: `"colluders": 2`, `"effective_sigma": `: `"effective_sigma": 1`} {
		bad := filepath.Join(dir, "bad.json")
		if err := os.WriteFile(bad, []byte(strings.Replace(text, from, to, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		if code, text := said("privacy", "-verify", a.Certificate, "-fleet", bad); code != cli.ExitUsage || !strings.Contains(text, "privacy.effective_sigma is") || !strings.Contains(text, "the worst is") {
			t.Errorf("%s: exit code %d, %s", to, code, text)
		}
	}
	weaker := filepath.Join(dir, "weaker.json")
	if err := os.WriteFile(weaker, []byte(strings.Replace(text, `"colluders": 1`, `"colluders": 0`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, text := said("privacy", "-verify", a.Certificate, "-fleet", weaker); code == cli.ExitDone ||
		!strings.Contains(text, "releases[0].shared.colluders: is 1, want 0") {
		t.Errorf("exit code %d, %s", code, text)
	}
}
