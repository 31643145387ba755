package fleetfile

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/adapter"
)

// adapted returns a fleet that trains 3 numbers, which its adapter expands to 20 parameters, and the folder of its
// files.
func adapted(t *testing.T) (*File, string) {
	t.Helper()
	f, dir := sample(), t.TempDir()
	spec, err := adapter.Parse("random:3:7", 20)
	if err != nil {
		t.Fatal(err)
	}
	base := make([]byte, 80)
	base[3] = 0x3f // 0.5
	spec.Base = &adapter.File{File: "base.bin", SHA256: hexSum(base)}
	f.Fleet.Adapter, f.Fleet.X0, f.X0File = spec, nil, ""
	if err := f.Write(filepath.Join(dir, "fleet.json")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "base.bin"), base, 0o600); err != nil {
		t.Fatal(err)
	}
	read, err := Read(filepath.Join(dir, "fleet.json"))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(read.Fleet, f.Fleet) || read.Fleet.Hash() != f.Fleet.Hash() {
		t.Fatalf("read %+v, want %+v", read.Fleet.Adapter, spec)
	}
	return read, dir
}

// lengths is both an oracle and a judge. Each result is the number of parameters that it is given.
type lengths struct{ Judge }

func (lengths) Loss(_ context.Context, x []float32, _ int) (float64, error) {
	return float64(len(x)) + float64(x[0]), nil
}
func (lengths) Accuracy(x []float32) float64                { return float64(len(x)) }
func (lengths) MeanLoss(x []float32) float64                { return float64(len(x)) }
func (lengths) Deviations(x []float32) (*Deviations, error) { return &Deviations{Samples: len(x)}, nil }

func TestAdaptedSource(t *testing.T) {
	f, dir := adapted(t)
	s := &Source{Oracle: lengths{}, Test: lengths{}}
	if err := f.Adapt(s); err != nil {
		t.Fatal(err)
	}
	c := make([]float32, 3)
	if loss, err := s.Oracle.Loss(t.Context(), c, 0); loss != 20.5 || err != nil {
		t.Errorf("loss %v, %v, want 20.5", loss, err)
	}
	if d, err := s.Test.Deviations(c); s.Test.Accuracy(c) != 20 || s.Test.MeanLoss(c) != 20 || err != nil || d.Samples != 20 {
		t.Error("the judge was not given all parameters")
	}
	if x, err := f.Expand(c); err != nil || len(x) != 20 || x[0] != 0.5 {
		t.Errorf("expanded to %v, %v", x, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "base.bin"), make([]byte, 80), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := f.Adapt(s); err == nil || !strings.Contains(err.Error(), "base.sha256 is "+f.Fleet.Adapter.Base.SHA256) {
		t.Errorf("a base with another hash: %v", err)
	}
	plain := sample()
	if x, err := plain.Expand(c); err != nil || &x[0] != &c[0] {
		t.Errorf("without adapter %v, %v", x, err)
	}
}

// TestProgramMustFitTheAdapter checks that a program is refused unless it takes either the model's parameters or the
// numbers that the fleet's adapter expands.
func TestProgramMustFitTheAdapter(t *testing.T) {
	f, _ := adapted(t)
	text := f.Fleet.Adapter.String()
	spaced := strings.ReplaceAll(strings.ReplaceAll(text, ",", " , "), ":", " : ")
	for _, c := range []struct {
		fleet  *File
		dim    int
		text   string
		asked  int    // expected number of parameters in a query to the program; 0 if the program is refused
		reason string // expected reason of the refusal
	}{
		{f, 20, "", 20, ""},
		{f, 3, text, 3, ""},
		{f, 3, spaced, 3, ""},
		{f, 3, "", 0, "has 3 parameters and the adapter \"\", want 20 parameters and no adapter, or 3 parameters and the adapter " + text},
		{f, 20, text, 0, "has 20 parameters and the adapter"},
		{f, 3, strings.Replace(text, `"seed":7`, `"seed":8`, 1), 0, `seed\":8`},
		{f, 3, strings.Replace(text, `"of":20`, `"of":21`, 1), 0, `of\":21`},
		{f, 3, "no JSON", 0, "no JSON"},
		{sample(), 3, "", 3, ""},
		{sample(), 4, "", 0, "has 4 parameters, but the fleet's dim is 3"},
		{sample(), 3, text, 0, "but the fleet has no adapter"},
	} {
		s := &Source{Oracle: lengths{}}
		err := c.fleet.ofProgram(s, c.dim, c.text)
		if (err == nil) != (c.reason == "") || err != nil && !strings.Contains(err.Error(), c.reason) {
			t.Errorf("dim %d, adapter %s: %v, want %q", c.dim, c.text, err, c.reason)
			continue
		}
		if err == nil {
			if loss, err := s.Oracle.Loss(t.Context(), make([]float32, 3), 0); int(loss) != c.asked || err != nil {
				t.Errorf("dim %d, adapter %s: queries of %v numbers, %v, want %d", c.dim, c.text, loss, err, c.asked)
			}
		}
	}
}

var _ sdk.Oracle = lengths{}
