//go:build unix

package program

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/fleet"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/privacy"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/state"
)

// years is a fleet in which each device has its own folder, apart from the operator's.
type years struct {
	dir, plant string            // of everything, and of the operator
	lines      map[string]string // output of keygen, by member
	port       map[string]string
}

func (y *years) fleet(t *testing.T, action string, args ...string) (r fleet.FleetResult) {
	t.Helper()
	into(t, &r, cli.ExitDone, append([]string{"fleet", action, y.plant}, args...)...)
	return r
}

func (y *years) device(name string, more ...string) string {
	return filepath.Join(append([]string{y.dir, name}, more...)...)
}

// keygen makes a key on a device and keeps the line for the operator.
func (y *years) keygen(t *testing.T, name, file string) {
	t.Helper()
	if err := os.MkdirAll(y.device(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if y.port[name] == "" {
		y.port[name] = ownPort()
	}
	code, line, log := call("keygen", "-name", name, "-out", y.device(name, file), "-address", y.port[name])
	if code != cli.ExitDone {
		t.Fatal(log)
	}
	y.lines[name] = y.device(name, file+".line")
	if err := os.WriteFile(y.lines[name], []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
}

// settle gives a new device its data, a ledger, and its files from the operator.
func (y *years) settle(t *testing.T, name string) {
	t.Helper()
	var csv strings.Builder
	csv.WriteString("age,pressure,ill\n")
	for i := range 60 {
		age, pressure := 20+i*37%60, 100+i*53%(60+len(name))
		fmt.Fprintf(&csv, "%d,%d,%s\n", age, pressure, map[bool]string{true: "yes", false: "no"}[age+pressure > 180])
	}
	if err := os.WriteFile(y.device(name, "mine.csv"), []byte(csv.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, text := said("privacy", "-new-ledger", y.device(name, "ledger.json"), "-dataset", "of "+name, "-epsilon", "12"); code != cli.ExitDone {
		t.Fatal(text)
	}
	text := readFile(t, filepath.Join(y.plant, name, "node.json"))
	text = strings.Replace(text, `"state":`, `"linger_seconds": 10, "resend_seconds": 0.05, "state":`, 1) // for speed
	if err := os.WriteFile(y.device(name, "node.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (y *years) take(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		var r fleet.FleetResult
		into(t, &r, cli.ExitDone, "fleet", "take", y.device(name, "node.json"), "-new", filepath.Join(y.plant, "fleet.json"))
	}
}

func (y *years) run(t *testing.T, name string, more ...string) *process {
	t.Helper()
	return start(t, append([]string{"run", y.device(name, "node.json"), "-json"}, more...)...)
}

// export copies the model of a device to the operator.
func (y *years) export(t *testing.T, name, to string) string {
	t.Helper()
	out := filepath.Join(y.dir, to)
	if code, text := said("export", y.device(name, "node.json"), "-out", out); code != cli.ExitDone {
		t.Fatal(text)
	}
	return out
}

// spent checks a device's ledger: it has these runs, whose sum is within its limit.
func (y *years) spent(t *testing.T, name string, runs ...string) {
	t.Helper()
	l, err := state.ReadLedger(y.device(name, "ledger.json"))
	if err != nil {
		t.Fatal(err)
	}
	life := l.Lifetime(1e-5)
	var sum float64
	var had []string
	for _, r := range life.Runs {
		sum, had = sum+r.Rho, append(had, r.Run)
	}
	if !slices.Equal(had, runs) || math.Abs(sum-life.Rho) > 1e-9*sum || life.EpsilonGDP > 12 {
		t.Errorf("%s has the runs %q, which cost %v of %v: epsilon %v", name, had, sum, life.Rho, life.EpsilonGDP)
	}
}

// Three runs of a fleet: then a member leaves, another joins, and one changes its key; the second run starts from the
// first's model and loses a device; in the third the first member is back. No file is edited by hand.
func TestFleetOverYears(t *testing.T) {
	t.Parallel()
	y := &years{dir: t.TempDir(), lines: map[string]string{}, port: map[string]string{}}
	y.plant = filepath.Join(y.dir, "plant")
	all := ""
	for _, name := range []string{"a", "b", "c"} {
		y.keygen(t, name, "node.key")
		all += readFile(t, y.lines[name])
	}
	members, task := filepath.Join(y.dir, "members.txt"), filepath.Join(y.dir, "task.json")
	if err := os.WriteFile(members, []byte(all), 0o600); err != nil {
		t.Fatal(err)
	}
	public := filepath.Join(y.dir, "public.csv")
	if err := os.WriteFile(public, []byte("age,pressure,ill\n"+strings.Repeat("30,120,no\n70,150,yes\n50,110,no\n60,170,yes\n", 5)), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, text := said("fit", "-data", "csv:"+public, "-label", "ill", "-fitted-on", "a cohort", "-out", task); code != cli.ExitDone {
		t.Fatal(text)
	}
	if code, text := said("init", y.plant, "-members", members, "-task", task, "-data", "csv:mine.csv", "-graph", "complete", "-run", "2026",
		"-rounds", "5", "-cooldown", "3", "-epsilon", "6"); code != cli.ExitDone {
		t.Fatal(text)
	}
	for _, name := range []string{"a", "b", "c"} {
		y.settle(t, name)
	}
	y.take(t, "a", "b", "c")
	nodes := []*process{y.run(t, "a"), y.run(t, "b"), y.run(t, "c")}
	for _, p := range nodes {
		p.wait(t, cli.ExitDone)
	}
	model := y.export(t, "a", "2026.json")

	// The second year: c is away, d joins, b has a new key.
	y.keygen(t, "d", "node.key")
	if r := y.fleet(t, "remove", "-name", "c", "-run", "2027"); r.SameRun {
		t.Error("without a member the fleet is the same")
	}
	y.fleet(t, "add", "-line", y.lines["d"], "-edges", "a,b", "-run", "2027", "-as", "a")
	y.settle(t, "d")
	y.keygen(t, "b", "new.key")
	if r := y.fleet(t, "rotate", "-line", y.lines["b"], "-file", "new.key"); !r.SameRun {
		t.Error("with another key it is another fleet")
	}
	y.fleet(t, "rotate", "-name", "b", "-retire")
	if r := y.fleet(t, "next", "-from", model, "-run", "2027", "-epsilon", "5", "-rounds", "300"); math.Abs(*r.Epsilon-5) > 1e-3 {
		t.Errorf("epsilon %v", *r.Epsilon)
	}
	if code, text := said("fleet", "take", y.device("b", "node.json"), "-new", filepath.Join(y.plant, "fleet.json")); code != cli.ExitUsage ||
		!strings.Contains(text, "but the fleet file has") {
		t.Errorf("with its old key: exit code %d, %s", code, text)
	}
	var r fleet.FleetResult
	into(t, &r, cli.ExitDone, "fleet", "take", y.device("b", "node.json"), "-new", filepath.Join(y.plant, "fleet.json"), "-file", "new.key")
	y.take(t, "a", "d")
	if file, err := fleetfile.Read(y.device("d", "fleet.json")); err != nil || len(file.Fleet.X0) == 0 {
		t.Fatalf("the run does not start from the model: %v", err)
	}

	// The device of d is lost after some releases, and another replaces it.
	a, b, d := y.run(t, "a"), y.run(t, "b"), y.run(t, "d")
	d.log.await(t, "  3 of 303")
	_ = d.cmd.Process.Kill()
	<-d.over
	kept, err := state.ReadSnapshot(y.device("d", "state"))
	if err != nil && kept == nil {
		t.Fatal(err)
	}
	if kept.Round > 290 {
		t.Skip("the run was over before the device could be lost")
	}
	// No device can change to another fleet during the run, unless the run is to end.
	other := filepath.Join(y.dir, "other")
	copyAll(t, y.plant, other)
	into(t, &r, cli.ExitDone, "fleet", "next", other, "-from", model, "-run", "2029")
	for _, c := range []struct{ name, want string }{{"a", `"a" is running: stop it`}, {"d", "of 303 of run \"2027\": let it end, or give -end"}} {
		if code, text := said("fleet", "take", y.device(c.name, "node.json"), "-new", filepath.Join(other, "fleet.json")); code != cli.ExitFailed || !strings.Contains(text, c.want) {
			t.Errorf("%s: exit code %d, %s", c.name, code, text)
		}
	}
	into(t, &r, cli.ExitDone, "fleet", "take", y.device("d", "node.json"), "-new", filepath.Join(other, "fleet.json"), "-end", "-dry-run")
	for _, lost := range []string{"state", "node.key"} {
		if err := os.RemoveAll(y.device("d", lost)); err != nil {
			t.Fatal(err)
		}
	}
	y.keygen(t, "d", "spare.key")
	y.fleet(t, "rotate", "-line", y.lines["d"], "-file", "spare.key", "-at-once")
	into(t, &r, cli.ExitDone, "fleet", "take", y.device("d", "node.json"), "-new", filepath.Join(y.plant, "fleet.json"), "-file", "spare.key")
	y.take(t, "a", "b")
	for _, p := range []*process{a, b} {
		if err := p.cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
	}
	d = y.run(t, "d", "-recover")
	d.log.await(t, "this device has replaced the lost one")
	for _, p := range []*process{a, b, d} {
		p.wait(t, cli.ExitDone)
	}

	// The third year: c is back, at another address.
	model = y.export(t, "d", "2027.json")
	y.fleet(t, "add", "-line", y.lines["c"], "-edges", "a,d", "-run", "2028")
	y.port["c"] = ownPort()
	y.fleet(t, "move", "-name", "c", "-address", y.port["c"])
	y.fleet(t, "next", "-from", model, "-run", "2028", "-epsilon", "2", "-rounds", "4")
	y.take(t, "a", "b", "d")
	y.take(t, "c")
	nodes = []*process{y.run(t, "a"), y.run(t, "b"), y.run(t, "c"), y.run(t, "d")}
	for _, p := range nodes {
		p.wait(t, cli.ExitDone)
	}
	y.spent(t, "a", "2026", "2027", "2028")
	y.spent(t, "b", "2026", "2027", "2028")
	y.spent(t, "c", "2026", "2028")
	y.spent(t, "d", "2027", "2028")
	for _, name := range []string{"a", "b", "c", "d"} {
		if code, text := said("privacy", "-verify", y.device(name, "state-2028", "certificate.json"), "-fleet", y.device(name, "fleet.json"),
			"-ledger", y.device(name, "ledger.json")); code != cli.ExitDone {
			t.Errorf("%s: %s", name, text)
		}
	}
	var left struct {
		dpmech.Lifetime
		Left privacy.LedgerLeft `json:"left"`
	}
	into(t, &left, cli.ExitDone, "privacy", "-ledger", y.device("a", "ledger.json"), "-fleet", y.device("a", "fleet.json"))
	if l := left.Left; l.Run != "2028" || l.Made != 4 || *l.Rounds < 1 || !(l.Figures[0].Epsilon > 2 && l.Figures[0].Epsilon < 12) {
		t.Errorf("left %+v", l)
	}
}
