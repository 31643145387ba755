//go:build unix

package program

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/sdk"
)

// TestEveryFileIsRegular checks that if a file is a pipe, a link to an endless device, or huge, the program fails
// immediately with an error that names the file. The program must neither hang nor run out of memory.
func TestEveryFileIsRegular(t *testing.T) {
	t.Parallel()
	tr := newTrial(t, "a ", func(f *sdk.Fleet) {
		f.Members, f.Edges = []string{"a"}, nil
		f.Privacy = sdk.Privacy{Clip: 0.5, Sigma: 1, Delta: 1e-5}
	})
	node := tr.path("a.json")
	if code, _, log := call("run", "-anyway", node); code != cli.ExitDone {
		t.Fatalf("exit code %d: %s", code, log)
	}
	data := tr.path("data.csv")
	if err := os.WriteFile(data, []byte("a,b\n1,x\n2,y\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ledger := tr.path("a.ledger")
	state := tr.path("a.state")
	run := []string{"run", "-anyway", node}
	fit := []string{"fit", "-data", "csv:" + data, "-label", "b", "-fitted-on", "x"}
	for path, args := range map[string][]string{
		node: run, tr.path("fleet.json"): run, tr.path("a.key"): run, ledger: run, ledger + ".mark": run, ledger + ".neighbors": run,
		filepath.Join(state, "slot-0"): run, filepath.Join(state, "releases.log"): run, filepath.Join(state, "lock"): run,
		filepath.Join(state, "journal.jsonl"): run, tr.path("pairs.key"): {"keygen", "-name", "a", "-from", tr.path("a.key")},
		data: fit, tr.path("edges"): {"plan", "-nodes", "2", "-dim", "2", "-graph", "file:" + tr.path("edges")},
		tr.path("certificate.json"): {"privacy", "-verify", tr.path("certificate.json")},
	} {
		old, err := os.ReadFile(path)
		existed := err == nil
		for kind, make := range map[string]func() error{
			"pipe":   func() error { return syscall.Mkfifo(path, 0o600) },
			"zeros":  func() error { return os.Symlink("/dev/zero", path) },
			"folder": func() error { return os.Mkdir(path, 0o700) },
			"endless": func() error {
				f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
				if err == nil {
					err = f.Truncate(1 << 41)
				}
				if err == nil {
					err = f.Close()
				}
				return err
			},
		} {
			if existed {
				if err := os.Remove(path); err != nil {
					t.Fatal(err)
				}
			}
			if err := make(); err != nil {
				t.Fatal(err)
			}
			call("status", node) // the result does not matter, but the command must not hang
			code, out, log := call(args...)
			told := code != cli.ExitDone && strings.Contains(log, filepath.Base(path)) || args[0] == "status" && strings.Contains(out, filepath.Base(path))
			if !told || len(log) > 2000 {
				t.Errorf("%s as %s: exit code %d: %.300s%.2000s", filepath.Base(path), kind, code, out, log)
			}
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			if existed {
				if err := os.WriteFile(path, old, 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if code, _, log := call("run", "-anyway", node); code != cli.ExitDone { // the wrong files damaged nothing
		t.Errorf("exit code %d: %s", code, log)
	}
}
