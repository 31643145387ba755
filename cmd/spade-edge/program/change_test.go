package program

import (
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/builtin"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/fleet"
)

// folder has the contents of the files in a folder, by path.
type folder map[string]string

func readFolder(t *testing.T, dir string) folder {
	t.Helper()
	all := folder{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			rel, _ := filepath.Rel(dir, path)
			all[rel] = readFile(t, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// write writes the files to a new folder.
func (f folder) write(t *testing.T) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "plant")
	for name, text := range f {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Dir(path), filepath.Base(path), text)
	}
	return dir
}

// TestFleetInterrupted checks that an interruption during a change to a fleet leaves all files complete, with the old
// fleet file still in place. Repeating the command must then create the same files as a change without an interruption.
func TestFleetInterrupted(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	did := func(args ...string) string {
		code, out, log := call(args...)
		if code != cli.ExitDone {
			t.Fatal(log)
		}
		return out
	}
	did("init", filepath.Join(top, "plant"), "-nodes", "a,b,c", "-rounds", "6")
	line := writeFile(t, top, "line", did("keygen", "-name", "d", "-out", filepath.Join(top, "key"), "-address", "d.example:7443"))
	key := writeFile(t, top, "b.line", did("keygen", "-name", "b", "-from", filepath.Join(top, "plant", "b", "node.key"), "-address", "b.example:7443"))
	text, err := (&builtin.Model{Run: "before", Member: "a", Round: 1, Rounds: 1, NoTask: builtin.Program, Weights: []float32{1, 0, -1, 0.5, 0.25, 2}}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	model := writeFile(t, top, "model.json", string(text))
	old := readFolder(t, filepath.Join(top, "plant"))
	for _, name := range []string{"a", "b", "c"} { // each node has had a run, and node a also has the fleet file
		old[filepath.Join(name, "state", "old")] = ""
	}
	own := filepath.Join("a", "node.json")
	old[own], old[filepath.Join("a", "fleet.json")] = strings.Replace(old[own], "../fleet.json", "fleet.json", 1), old["fleet.json"]
	for _, c := range []struct {
		files  int
		action string
		args   []string
	}{
		{8, "add", []string{"-line", line, "-edges", "a,b", "-run", "2027"}},
		{6, "remove", []string{"-name", "c", "-run", "2027"}},
		{3, "add", []string{"-line", key}},
		{9, "next", []string{"-from", model, "-run", "2027"}},
	} {
		do := func(dir string, after int) int {
			p := *Websockets
			p.FleetStep = func() error {
				if after--; after < 0 {
					return errors.New("crash")
				}
				return nil
			}
			return p.Run(t.Context(), append([]string{"fleet", c.action, dir}, c.args...), io.Discard, io.Discard)
		}
		whole := old.write(t)
		if code := do(whole, c.files); code != cli.ExitDone {
			t.Fatalf("%s: exit code %d, or it writes more than %d files", c.action, code, c.files)
		}
		want := readFolder(t, whole)
		for at := c.files - 1; at >= 0; at -= 2 { // the last file is the fleet's; those of members are alike
			dir := old.write(t)
			if code := do(dir, at); code != cli.ExitFailed {
				t.Fatalf("%s: exit code %d after %d files", c.action, code, at)
			}
			for name, text := range readFolder(t, dir) {
				if text != old[name] && text != want[name] {
					t.Errorf("%s: after %d files %s is neither the old nor the new one", c.action, at, name)
				}
			}
			if readFile(t, filepath.Join(dir, "fleet.json")) != old["fleet.json"] {
				t.Errorf("%s: after %d of %d files the fleet is another one already", c.action, at, c.files)
			}
			if code := do(dir, c.files); code != cli.ExitDone || !maps.Equal(readFolder(t, dir), want) {
				t.Errorf("%s: after %d files the repeat has exit code %d and makes\n%v\nwant\n%v", c.action, at, code, readFolder(t, dir), want)
			}
		}
		if do(top, 0) == cli.ExitDone {
			t.Error("no fleet")
		}
	}
}

// TestFileEdits checks that SetField changes only one field in the text of a file.
func TestFileEdits(t *testing.T) {
	const text = "{ \"a\": {\"state\": 1},\n\t\"state\" :  \"x\\u0041\" , \"z\": [1 ]\n}\n"
	for key, want := range map[string]string{
		"state": strings.Replace(text, `"x\u0041"`, `"new"`, 1), "key": strings.Replace(text, " ]\n}", " ],\n  \"key\": \"new\"\n}", 1),
	} {
		if got, err := fleet.SetField([]byte(text), key, "new"); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", key, got, err)
		}
	}
}
