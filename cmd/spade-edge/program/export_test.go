package program

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/node"

	"github.com/spade-dfl/spade-edge/sdk"
)

// For any model length the header ends at a multiple of 64, where the numbers begin.
func TestNPYHeader(t *testing.T) {
	for _, n := range []int{1, 9, 10, 999, 123456, 1 << 28} {
		if b := cli.NpyHeader(n); len(b)%64 != 0 || b[len(b)-1] != '\n' || int(binary.LittleEndian.Uint16(b[8:]))+10 != len(b) {
			t.Errorf("%d numbers: %q", n, b)
		}
	}
	if got, want := string(cli.NpyHeader(6)), "\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, 'shape': (6,), }"; !strings.HasPrefix(got, want) || len(got) != 128 {
		t.Errorf("header %q", got)
	}
}

// export writes every format, of an incomplete run too, and refuses every wrong use.
func TestExport(t *testing.T) {
	t.Parallel()
	tr := newTrial(t, "a ", func(f *sdk.Fleet) { f.Members, f.Edges = []string{"a"}, nil })
	file := tr.path("a.json")
	if code, out, log := call("export", file, "-out", tr.path("x.npy")); code != cli.ExitFailed || out != "" || !strings.Contains(log, "no model yet") {
		t.Errorf("before the first release: exit code %d: %s%s", code, out, log)
	}
	tr.edit(t, "a.json", `"version": 1`, `"version": 1, "average": true`)
	var r node.RunResult
	into(t, &r, cli.ExitDone, "run", file)
	for name, want := range map[string]string{"m.npy": "npy", "m.NPY": "npy", "m.json": "json"} {
		var e node.Exported
		into(t, &e, cli.ExitDone, "export", file, "-out", tr.path(name))
		if e.Format != want || e.Model != r.Model || !e.Done || e.Certificate != "" || !e.NonPrivate {
			t.Errorf("%s: %+v", name, e)
		}
	}
	var text struct {
		Model []float32 `json:"model"`
	}
	if b, err := os.ReadFile(tr.path("m.json")); err != nil || json.Unmarshal(b, &text) != nil || sdk.ModelHash(text.Model) != r.Model {
		t.Errorf("the JSON file holds %v, error %v", text, err)
	}
	var mean node.Exported
	into(t, &mean, cli.ExitDone, "export", file, "-averaged", "-out", tr.path("mean.npy"))
	if mean.Model == r.Model || !mean.Averaged || sdk.ModelHash(readNPY(t, tr.path("mean.npy"))) != mean.Model {
		t.Errorf("averaged: %+v", mean)
	}
	var again node.Exported
	into(t, &again, cli.ExitDone, "export", file, "-force", "-out", tr.path("mean.npy"))
	if again.Model != r.Model || sdk.ModelHash(readNPY(t, tr.path("mean.npy"))) != r.Model {
		t.Errorf("-force: %+v", again)
	}

	other := newTrial(t, "ab", nil)
	tr.write(t, "stranger.json", strings.Replace(readFile(t, other.path("a.json")), `"a.state"`, strconv.Quote(filepath.ToSlash(tr.path("a.state"))), 1))
	tr.edit(t, "stranger.json", `"fleet.json"`, strconv.Quote(filepath.ToSlash(other.path("fleet.json"))))
	before := tree(t, tr.dir)
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{cli.ExitUsage, "no file given", []string{"-out", "x.npy"}},
		{cli.ExitUsage, "-out is missing", []string{file}},
		{cli.ExitUsage, "want a name that ends with .json", []string{file, "-out", tr.path("x.h5")}},
		{cli.ExitUsage, "m.npy already exists: -force", []string{file, "-out", tr.path("m.npy")}},
		{cli.ExitUsage, "none.json", []string{tr.path("none.json"), "-out", tr.path("x.npy")}},
		{cli.ExitFailed, "no such file", []string{file, "-out", tr.path("none/x.npy")}},
		{cli.ExitMismatch, "belongs to another node or run", []string{tr.path("stranger.json"), "-out", tr.path("x.npy")}},
	} {
		code, out, log := call(append([]string{"export"}, c.args...)...)
		if code != c.code || !strings.Contains(log, c.want) || out != "" {
			t.Errorf("%q: exit code %d, want %d with %q\n%s%s", c.args, code, c.code, c.want, out, log)
		}
		if after := tree(t, tr.dir); after != before {
			t.Errorf("%q: left behind %s", c.args, after)
		}
	}
	tr.edit(t, "fleet.json", `"cooldown": 3`, `"cooldown": 4`)
	if code, _, log := call("export", file, "-out", tr.path("x.npy")); code != cli.ExitMismatch {
		t.Errorf("another fleet file: exit code %d: %s", code, log)
	}
}

// export copies a node's certificate only if it covers the model.
func TestExportCertificate(t *testing.T) {
	tr := newTrial(t, "a ", func(f *sdk.Fleet) {
		f.Members, f.Edges = []string{"a"}, nil
		f.Privacy = sdk.Privacy{Clip: 0.2, Sigma: 1, Delta: 1e-5}
	})
	file, cert := tr.path("a.json"), tr.path("a.state/certificate.json")
	var r node.RunResult
	into(t, &r, cli.ExitDone, "run", file)
	text := readFile(t, cert)
	for name, c := range map[string]struct {
		text, want string // empty: it is copied
	}{
		"as it is":          {text, ""},
		"of another node":   {strings.ReplaceAll(text, `"member": "a"`, `"member": "b"`), "of another run"},
		"with a lower cost": {strings.Replace(text, `"rho": 0.`, `"rho": 0.0`, 1), "rho is stated as"},
		"not JSON":          {"hello", "invalid character"},
		"gone":              {"", "the node writes one when it ends"},
	} {
		if err := os.WriteFile(cert, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if c.text == "" {
			if err := os.Remove(cert); err != nil {
				t.Fatal(err)
			}
		}
		out := tr.path("m.npy")
		code, said, log := call("export", file, "-out", out, "-force")
		copied, err := os.ReadFile(out + ".certificate.json")
		if code != cli.ExitDone || !strings.Contains(said, c.want) || (err == nil) != (c.want == "") || err == nil && string(copied) != text {
			t.Errorf("%s: exit code %d, copy %v\n%s%s", name, code, err, said, log)
		}
	}
}

// readNPY reads a one-dimensional '<f4' file of format 1.0 as strictly as NumPy does.
func readNPY(t *testing.T, path string) []float32 {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(b) < 10 || string(b[:8]) != "\x93NUMPY\x01\x00" {
		t.Fatalf("magic %q", b[:min(10, len(b))])
	}
	end := 10 + int(binary.LittleEndian.Uint16(b[8:]))
	header := string(b[10:end])
	var n int
	if _, err := fmt.Sscanf(header, "{'descr': '<f4', 'fortran_order': False, 'shape': (%d,), }", &n); err != nil || end%64 != 0 || header[len(header)-1] != '\n' ||
		strings.TrimLeft(header[strings.Index(header, "}")+1:], " ") != "\n" || len(b) != end+4*n {
		t.Fatalf("header %q, %d bytes for %d numbers: %v", header, len(b)-end, n, err)
	}
	x := make([]float32, n)
	for i := range x {
		x[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[end+4*i:]))
	}
	return x
}
