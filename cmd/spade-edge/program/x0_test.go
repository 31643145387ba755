package program

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/sdk/builtin"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
)

// initX0 makes a fleet of two nodes with a program of four parameters, and returns its folder and file.
func initX0(t *testing.T, flags ...string) (dir string, file *fleetfile.File) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "fleet")
	code, _, log := call(slices.Concat([]string{"init", dir, "-n", "2", "-graph", "complete", "-dim", "4", "-run", "trial",
		"-non-private", "-stream", "sh score.sh"}, flags)...)
	if code != cli.ExitDone {
		t.Fatalf("exit code %d: %s", code, log)
	}
	file, err := fleetfile.Read(filepath.Join(dir, "fleet.json"))
	if err != nil {
		t.Fatal(err)
	}
	return dir, file
}

// A random start has the same bits on every processor, depends on the seed, and is part of the fleet's hash.
func TestStartIsDrawn(t *testing.T) {
	_, zeros := initX0(t)
	_, drawn := initX0(t, "-x0", "normal:0.25")
	_, again := initX0(t, "-x0", "normal:0.25")
	_, double := initX0(t, "-x0", "normal:0.5")
	_, other := initX0(t, "-x0", "normal:0.25", "-seed", "2")
	// Golden: the same on all machines of a run.
	want := []float32{0x1.3f1a72p-04, 0x1.b514e4p-03, 0x1.bc42cep-06, 0x1.73dadp-03}
	if got := drawn.Fleet.X0; !slices.Equal(got, want) {
		t.Errorf("start %x, want %x", got, want)
	}
	for i, x := range double.Fleet.X0 {
		if x != 2*drawn.Fleet.X0[i] {
			t.Errorf("twice the deviation: number %d is %v and %v", i, drawn.Fleet.X0[i], x)
		}
	}
	if zeros.Fleet.X0 != nil || drawn.Fleet.Hash() != again.Fleet.Hash() || drawn.Fleet.Hash() == zeros.Fleet.Hash() ||
		drawn.Fleet.Hash() == double.Fleet.Hash() || slices.Equal(drawn.Fleet.X0, other.Fleet.X0) {
		t.Errorf("starts %v, %v, %v", zeros.Fleet.X0, drawn.Fleet.X0, other.Fleet.X0)
	}
}

// A start is read from files of numpy.save and export, complete and finite.
func TestStartIsRead(t *testing.T) {
	dir := t.TempDir()
	path := func(name string, content []byte) string {
		to := filepath.Join(dir, name)
		if err := os.WriteFile(to, content, 0o644); err != nil {
			t.Fatal(err)
		}
		return to
	}
	npy := func(x ...float32) []byte { return cli.AppendFloats(cli.NpyHeader(len(x)), x) }
	x := []float32{1, -0.5, 0, 0x1p-20}
	model, err := (&builtin.Model{Run: "before", Member: "a", Round: 3, Rounds: 3, NoTask: builtin.Program, Weights: x}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	spread := bytes.Replace(npy(x...), []byte("), }"), []byte("), }                     "), 1) // NumPy leaves room to grow
	spread[8] += 21
	for name, content := range map[string][]byte{"a.npy": npy(x...), "b.npy": spread, "c.json": model} {
		if _, file := initX0(t, "-x0", path(name, content)); !slices.Equal(file.Fleet.X0, x) {
			t.Errorf("%s: start %v, want %v", name, file.Fleet.X0, x)
		}
	}
	if _, file := initX0(t, "-x0", path("zeros.npy", npy(0, 0, 0, 0))); file.Fleet.X0 != nil || file.X0File != "" {
		t.Errorf("zeros: %v in %q", file.Fleet.X0, file.X0File)
	}
	nan, inf := float32(math.NaN()), float32(math.Inf(-1))
	for name, c := range map[string]struct{ x0, want string }{
		"short":      {path("short.npy", npy(1, 2, 3)), "has 3 numbers, want 4"},
		"long":       {path("long.npy", npy(1, 2, 3, 4, 5)), "has 5 numbers, want 4"},
		"NaN":        {path("nan.npy", npy(1, nan, 3, 4)), "number 1 is NaN, want a finite number"},
		"infinite":   {path("inf.npy", npy(1, 2, 3, inf)), "number 3 is -Inf, want a finite number"},
		"huge":       {path("huge.npy", npy(1, 2, 3, 3e38)), "X0[3] is 3e+38, want"},
		"cut":        {path("cut.npy", npy(1, 2, 3, 4)[:130]), "before 2 bytes of numbers"},
		"cut header": {path("cuth.npy", npy(1, 2, 3, 4)[:50]), "header is cut short"},
		"empty":      {path("empty.npy", nil), "not a NumPy file"},
		"float64":    {path("f8.npy", bytes.Replace(npy(1, 2, 3, 4), []byte("<f4"), []byte("<f8"), 1)), "want one row of float32"},
		"text":       {path("text.json", []byte("[1,2,3,4]")), "want a .npy file, or a .json file that export wrote"},
		"missing":    {filepath.Join(dir, "none.npy"), "no such file"},
		"folder":     {dir, "is a folder"},
		"deviation":  {"normal:0", `want normal:S with a standard deviation S of 1e-06..1000`},
		"NaN drawn":  {"normal:nan", `want normal:S with a standard deviation S of 1e-06..1000`},
		"nothing":    {"", "-x0 is empty"},
	} {
		to := filepath.Join(t.TempDir(), "fleet")
		code, out, log := call("init", to, "-n", "2", "-dim", "4", "-stream", "cat", "-x0", c.x0)
		if _, err := os.Stat(to); code != cli.ExitUsage || out != "" || !strings.Contains(log, c.want) || err == nil {
			t.Errorf("%s: exit code %d, want %d with %q: %s%s", name, code, cli.ExitUsage, c.want, out, log)
		}
	}
}

// check warns of a program that learns nothing from a start at zero, and not for another start.
func TestSaddleIsReported(t *testing.T) {
	noWindows(t)
	const product = `
echo '{"hello":1,"dim":4,"samples":8}'
while read -r line; do
	x=${line#*[} h=${line#*'"sample":'} id=${line#*:}
	awk -v id="${id%%,*}" -v h="${h%%,*}" -v x="${x%]*}" 'BEGIN {
		split(x, v, ",")
		off = v[1]*v[2] + v[3]*v[4] - 1 - h/8
		printf "{\"id\":%s,\"loss\":%.17g}\n", id, off*off
	}'
done
`
	for _, flags := range [][]string{nil, {"-x0", "normal:0.5"}} {
		dir, _ := initX0(t, flags...)
		node := filepath.Join(dir, "node-0")
		if err := os.WriteFile(filepath.Join(node, "score.sh"), []byte(product), 0o644); err != nil {
			t.Fatal(err)
		}
		code, out, log := call("check", "-offline", "-json", filepath.Join(node, "node.json"))
		var r struct {
			Items []struct{ Item, Verdict, Text string }
		}
		if err := json.Unmarshal([]byte(out), &r); code != cli.ExitDone || err != nil {
			t.Fatalf("exit code %d: %s%s", code, out, log)
		}
		warned := false
		for _, i := range r.Items {
			warned = warned || i.Item == "start" && i.Verdict == "warn" && strings.Contains(i.Text, "a saddle point of this model")
		}
		if warned != (flags == nil) {
			t.Errorf("init %v: %s", flags, out)
		}
	}
}
