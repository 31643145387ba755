package program

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A change that ends anywhere leaves all files old, or the next call makes all of them new.
func TestChangeCrashes(t *testing.T) {
	t.Parallel()
	crash := errors.New("crash")
	for at := 0; ; at++ {
		dir := t.TempDir()
		read := func(name string) string {
			text, _ := os.ReadFile(filepath.Join(dir, name))
			return string(text)
		}
		if err := os.WriteFile(filepath.Join(dir, "fleet"), []byte("old"), 0o644); err != nil {
			t.Fatal(err)
		}
		steps := 0
		c := &change{dir: dir, step: func() error {
			if steps++; steps > at {
				return crash
			}
			return nil
		}}
		for _, name := range []string{"fleet", "a/node", "b/node"} {
			if err := c.set(filepath.Join(dir, name), []byte("new"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		err := c.commit()
		if err != nil && !errors.Is(err, crash) {
			t.Fatal(err)
		}
		did, errNext := finishChange(dir, (&change{}).pause)
		if errNext != nil {
			t.Fatal(errNext)
		}
		got := []string{read("fleet"), read("a/node"), read("b/node")}
		before, after := slices.Equal(got, []string{"old", "", ""}), slices.Equal(got, []string{"new", "new", "new"})
		if begun := at > 0; before == begun || after != begun || (did != "") != (begun && err != nil) {
			t.Errorf("crash at step %d: files %q, %q", at, got, did)
		}
		if info, err := os.Stat(filepath.Join(dir, "fleet")); err != nil || info.Mode().Perm()&0o044 != 0o044 {
			t.Errorf("mode %v, %v", info.Mode(), err)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
			t.Errorf("crash at step %d leaves %q", at, left)
		}
		if err == nil {
			break
		}
	}
}

// What other hands do in the middle of a change is never overwritten.
func TestChangeForeign(t *testing.T) {
	t.Parallel()
	for at, want := range map[int]string{1: "is undone", 2: "put that back"} {
		dir := t.TempDir()
		left := at
		c := &change{dir: dir, step: func() error {
			if left--; left < 0 {
				return errors.New("crash")
			}
			return nil
		}}
		for _, name := range []string{"a", "b"} {
			if err := c.set(filepath.Join(dir, name), []byte("new"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if c.commit() == nil {
			t.Fatal("no crash")
		}
		if err := os.WriteFile(filepath.Join(dir, "b"), []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
		did, err := finishChange(dir, (&change{}).pause)
		if err != nil {
			did = err.Error()
		}
		if mine, _ := os.ReadFile(filepath.Join(dir, "b")); string(mine) != "mine" || !strings.Contains(did, want) {
			t.Errorf("after step %d: %q, %q", at, mine, did)
		}
	}
}

func TestSetField(t *testing.T) {
	t.Parallel()
	const text = "{ \"a\": {\"state\": 1},\n\t\"state\" :  \"x\\u0041\" , \"z\": [1 ]\n}\n"
	for key, want := range map[string]string{
		"state": "{ \"a\": {\"state\": 1},\n\t\"state\" :  \"new\" , \"z\": [1 ]\n}\n",
		"key":   "{ \"a\": {\"state\": 1},\n\t\"state\" :  \"x\\u0041\" , \"z\": [1 ],\n  \"key\": \"new\"\n}\n",
	} {
		if got, err := setField([]byte(text), key, "new"); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", key, got, err)
		}
	}
}

func TestDifference(t *testing.T) {
	t.Parallel()
	removed, added := difference([]byte("a\nb\nc\nd\ne\n"), []byte("a\nc\nx\nd\ny\n"))
	if !slices.Equal(removed, []string{"b", "e"}) || !slices.Equal(added, []string{"x", "y"}) {
		t.Errorf("removed %q, added %q", removed, added)
	}
}
