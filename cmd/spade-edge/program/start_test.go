package program

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/builtin"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
)

// TestStart checks that a random initial model has the same bits on every processor and depends on the seed. It also
// checks that an initial model is rejected if its file, written by numpy.save or by the export command, is incomplete
// or has numbers that are not finite.
func TestStart(t *testing.T) {
	dir := t.TempDir()
	path := func(name string, content []byte) string {
		to := filepath.Join(dir, name)
		if err := os.WriteFile(to, content, 0o600); err != nil {
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
	spread := bytes.Replace(npy(x...), []byte("), }"), []byte("), }                     "), 1) // NumPy pads headers
	spread[8] += 21
	drawn := []float32{0x1.3f1a72p-04, 0x1.b514e4p-03, 0x1.bc42cep-06, 0x1.73dadp-03} // the same on every machine
	other := []float32{0x1.6371a2p-03, -0x1.cb46ecp-03, 0x1.4f8dc6p-03, 0x1.416da4p-07}
	nan, inf := float32(math.NaN()), float32(math.Inf(-1))
	for name, c := range map[string]struct {
		seed uint64
		x0   string
		want []float32 // nil for zeros
		fail string
	}{
		"drawn":           {1, "normal:0.25", drawn, ""},
		"twice as far":    {1, "normal:0.5", []float32{2 * drawn[0], 2 * drawn[1], 2 * drawn[2], 2 * drawn[3]}, ""},
		"another seed":    {2, "normal:0.25", other, ""},
		"numpy":           {1, path("a.npy", npy(x...)), x, ""},
		"numpy with room": {1, path("b.npy", spread), x, ""},
		"export":          {1, path("c.json", model), x, ""},
		"zeros":           {1, path("zeros.npy", npy(0, 0, 0, 0)), nil, ""},
		"short":           {1, path("short.npy", npy(1, 2, 3)), nil, "has 3 numbers, want 4"},
		"long":            {1, path("long.npy", npy(1, 2, 3, 4, 5)), nil, "has 5 numbers, want 4"},
		"NaN":             {1, path("nan.npy", npy(1, nan, 3, 4)), nil, "the number at index 1 is NaN, want a finite number"},
		"infinite":        {1, path("inf.npy", npy(1, 2, 3, inf)), nil, "the number at index 3 is -Inf, want a finite number"},
		"cut":             {1, path("cut.npy", npy(1, 2, 3, 4)[:130]), nil, "followed by 2 bytes of data"},
		"cut header":      {1, path("cuth.npy", npy(1, 2, 3, 4)[:50]), nil, "the NumPy header is truncated"},
		"empty":           {1, path("empty.npy", nil), nil, "not a NumPy file of format version 1.0"},
		"float64":         {1, path("f8.npy", bytes.Replace(npy(1, 2, 3, 4), []byte("<f4"), []byte("<f8"), 1)), nil, "want a one-dimensional float32 array"},
	} {
		fleet := filepath.Join(t.TempDir(), "fleet")
		code, text := said("init", fleet, "-n", "2", "-dim", "4", "-samples", "5", "-stream", "./x", "-non-private", "-seed", strconv.FormatUint(c.seed, 10), "-x0", c.x0)
		if c.fail != "" {
			if code != cli.ExitUsage || !strings.Contains(text, c.fail) {
				t.Errorf("%s: exit code %d, %s, want %q", name, code, text, c.fail)
			}
			continue
		}
		if f, err := fleetfile.Read(filepath.Join(fleet, "fleet.json")); code != cli.ExitDone || err != nil || !slices.Equal(f.Fleet.X0, c.want) {
			t.Errorf("%s: exit code %d, %s, %v, want %x", name, code, text, err, c.want)
		}
	}
	if code, text := said("init", filepath.Join(dir, "x"), "-n", "2", "-dim", "4", "-samples", "5", "-stream", "./x", "-x0", filepath.Join(dir, "none.npy")); code == cli.ExitDone ||
		!strings.Contains(text, "no such file") {
		t.Errorf("exit code %d, %s, want no such file", code, text)
	}
}
