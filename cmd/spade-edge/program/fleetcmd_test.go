package program

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/fleet"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk/builtin"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
)

// plant uses the init command to create a trial of three members. It returns the folder of the trial, and the line that
// the keygen command prints for a fourth member.
func plant(t *testing.T, more ...string) (dir, line string) {
	t.Helper()
	top := t.TempDir()
	dir = filepath.Join(top, "plant")
	if code, text := said(append([]string{"init", dir, "-nodes", "a,b,c", "-rounds", "6"}, more...)...); code != cli.ExitDone {
		t.Fatal(text)
	}
	code, out, log := call("keygen", "-name", "d", "-out", filepath.Join(top, "key"), "-address", "d.example:7443")
	if code != cli.ExitDone {
		t.Fatal(log)
	}
	return dir, writeFile(t, top, "line", out)
}

func modelOf(t *testing.T, dir string, weights ...float32) string {
	t.Helper()
	m := builtin.Model{Run: "before", Member: "a", Round: 1, Rounds: 1, NoTask: builtin.Program, Weights: weights}
	text, err := m.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return writeFile(t, filepath.Dir(dir), "model.json", string(text))
}

func contents(t *testing.T, dir string) string {
	t.Helper()
	all := tree(t, dir)
	for _, name := range strings.Fields(all) {
		if text, err := os.ReadFile(filepath.Join(dir, name)); err == nil {
			all += "\n" + name + "\n" + string(text)
		}
	}
	return all
}

// TestFleetNextAffords checks that the next run stays within its budget, with local and with pairwise noise, and that
// the other settings of the method do not change.
func TestFleetNextAffords(t *testing.T) {
	t.Parallel()
	for _, more := range [][]string{{"-graph", "ring"}, {"-graph", "complete", "-colluders", "1", "-limit-all", "60"}} {
		dir, line := plant(t, more...)
		model := modelOf(t, dir, 1, 0, -1, 0.5, 0.25, 2)
		file, err := fleetfile.Read(filepath.Join(dir, "fleet.json"))
		if err != nil {
			t.Fatal(err)
		}
		f := file.Fleet
		var r fleet.FleetResult
		into(t, &r, cli.ExitDone, "fleet", "add", dir, "-line", line, "-edges", "a,b", "-run", "2", "-as", "a")
		into(t, &r, cli.ExitDone, "fleet", "next", dir, "-from", model, "-run", "2", "-epsilon", "3")
		if file, err = fleetfile.Read(filepath.Join(dir, "fleet.json")); err != nil {
			t.Fatal(err)
		}
		next, shared := file.Fleet, f.Privacy.PairSigma > 0
		if p := next.Privacy; (p.PairSigma > 0) != shared || p.Clip != f.Privacy.Clip || p.EpsilonLimit != 3 || p.Colluders != f.Privacy.Colluders || p.LimitAll != f.Privacy.LimitAll {
			t.Errorf("%+v", p)
		}
		if m := next.Method; m.Mixing != f.Method.Mixing || m.Cooldown != f.Method.Cooldown || m.Rounds != 6 || m.Seed != f.Method.Seed+1 || m.Estimator != f.Method.Estimator || m.Tau != f.Method.Tau || m.Eta[0] != f.Method.Eta[0] {
			t.Errorf("%+v, and before %+v", m, f.Method)
		}
		if eps := dpmech.GDP.Epsilon(next.Rho(), 1e-5); eps > 3 || eps < 2.99 || math.Abs(*r.Epsilon-eps) > 1e-3 {
			t.Errorf("the run costs %v, and says %v, want 3", eps, *r.Epsilon)
		}
		if !shared {
			continue
		}
		if code, text := said("fleet", "next", dir, "-from", model, "-run", "3", "-epsilon", "50"); code != cli.ExitRefused || !strings.Contains(text, "against all other members together") {
			t.Errorf("exit code %d: %s", code, text)
		}
	}
}
