package program

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/fleet"
)

// TestFleetInterrupted checks that an interruption during a change to a fleet leaves all files complete, with the old
// fleet file still in place. Repeating the command must then create the same files as a change without an interruption.
func TestFleetInterrupted(t *testing.T) {
	t.Parallel()
	from, line := plant(t)
	model := modelOf(t, from, 1, 0, -1, 0.5, 0.25, 2)
	for _, name := range []string{"a", "b", "c"} { // each node has had a run, and node a also has the fleet file
		if err := os.MkdirAll(filepath.Join(from, name, "state"), 0o700); err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(from, name, "state"), "old", "")
	}
	copyAll(t, filepath.Join(from, "fleet.json"), filepath.Join(from, "a", "fleet.json"))
	writeFile(t, filepath.Join(from, "a"), "node.json", strings.Replace(readFile(t, filepath.Join(from, "a", "node.json")), "../fleet.json", "fleet.json", 1))
	code, fresh, log := call("keygen", "-name", "b", "-from", filepath.Join(from, "b", "node.key"), "-address", "b.example:7443")
	if code != cli.ExitDone {
		t.Fatal(log)
	}
	key := writeFile(t, filepath.Dir(from), "b.line", fresh)
	crash := errors.New("crash")
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
					return crash
				}
				return nil
			}
			return p.Run(t.Context(), append([]string{"fleet", c.action, dir}, c.args...), io.Discard, io.Discard)
		}
		want := filepath.Join(t.TempDir(), "plant")
		copyAll(t, from, want)
		if code := do(want, 1<<20); code != cli.ExitDone {
			t.Fatalf("%s: exit code %d", c.action, code)
		}
		old, new := contents(t, from), contents(t, want)
		for at := range c.files {
			dir := filepath.Join(t.TempDir(), "plant")
			copyAll(t, from, dir)
			if code := do(dir, at); code != cli.ExitFailed {
				t.Fatalf("%s: exit code %d after %d files", c.action, code, at)
			}
			for _, name := range strings.Fields(tree(t, dir)) {
				text, err := os.ReadFile(filepath.Join(dir, name))
				if err == nil && !strings.Contains(old, name+"\n"+string(text)) && !strings.Contains(new, name+"\n"+string(text)) {
					t.Errorf("%s: after %d files %s is neither the old nor the new one", c.action, at, name)
				}
			}
			if readFile(t, filepath.Join(dir, "fleet.json")) != readFile(t, filepath.Join(from, "fleet.json")) {
				t.Errorf("%s: after %d of %d files the fleet is another one already", c.action, at, c.files)
			}
			if code := do(dir, 1<<20); code != cli.ExitDone || contents(t, dir) != new {
				t.Errorf("%s: after %d files the repeat has exit code %d and makes\n%s\nwant\n%s", c.action, at, code, contents(t, dir), new)
			}
		}
		if do(from+"-none", 0) == cli.ExitDone {
			t.Error("no fleet")
		}
		dir := filepath.Join(t.TempDir(), "plant")
		copyAll(t, from, dir)
		if code := do(dir, c.files); code != cli.ExitDone || contents(t, dir) != new {
			t.Errorf("%s writes more than %d files", c.action, c.files)
		}
	}
}

// TestFileEdits checks that SetField changes only one field in the text of a file, and that LineChanges finds the
// changed lines.
func TestFileEdits(t *testing.T) {
	t.Parallel()
	const text = "{ \"a\": {\"state\": 1},\n\t\"state\" :  \"x\\u0041\" , \"z\": [1 ]\n}\n"
	for key, want := range map[string]string{
		"state": strings.Replace(text, `"x\u0041"`, `"new"`, 1), "key": strings.Replace(text, " ]\n}", " ],\n  \"key\": \"new\"\n}", 1),
	} {
		if got, err := fleet.SetField([]byte(text), key, "new"); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", key, got, err)
		}
	}
	const old = "{\n  \"run\": \"1\",\n  \"gone\": true,\n  \"edges\": [\n    [\"a\", \"b\"]\n  ]\n}\n"
	next := []byte("{\n  \"run\": \"2\",\n  \"edges\": [\n    [\"a\", \"b\"],\n    [\"b\", \"c\"]\n  ]\n}\n")
	gone, added := fleet.LineChanges([]byte(old), next)
	if !slices.Equal(gone, []string{`"run": "1"`, `"gone": true`}) || !slices.Equal(added, []string{`"run": "2"`, `["b", "c"]`}) {
		t.Errorf("gone %q, added %q", gone, added)
	}
	if gone, added := fleet.LineChanges(nil, next); gone != nil || len(added) != 4 {
		t.Errorf("of a new file: gone %q, added %q", gone, added)
	}
}
