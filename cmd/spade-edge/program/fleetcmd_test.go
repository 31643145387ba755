package program

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/builtin"
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
