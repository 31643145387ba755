package experiment

import (
	"os"
	"path/filepath"
	"testing"
)

// TestPack packs results twice, with a run between, and drops what is not kept: all lines are read, in order, the file
// has the same bytes for the same lines, and a program that was stopped before it removed the plain text loses nothing.
func TestPack(t *testing.T) {
	all := func(Result) bool { return true }
	pack := func(dir string, seeds ...uint64) *Store {
		s, err := NewStore(dir, Session{})
		for _, seed := range seeds {
			if err == nil {
				err = s.Add(Result{Job: Job{Table: "2a", Dataset: "mnist", Method: "m", Seed: seed}, Accuracy: float64(seed) / 3})
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	count := func(s *Store, want ...uint64) {
		t.Helper()
		results, err := s.Results("2a", "mnist")
		if err != nil || len(results) != len(want) {
			t.Fatalf("%v, %v, want seeds %v", results, err, want)
		}
		for i, r := range results {
			if r.Seed != want[i] || r.Accuracy != float64(want[i])/3 {
				t.Fatalf("%+v, want seeds %v", results, want)
			}
		}
	}
	dir := t.TempDir()
	plain := filepath.Join(dir, name("2a", "mnist"))
	s := pack(dir, 1, 2)
	before, err := os.ReadFile(plain)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Pack("2a", "mnist", all); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(plain); err == nil {
		t.Fatal("the plain text is still there")
	}
	count(s, 1, 2)
	first, err := os.ReadFile(plain + ".gz")
	if err != nil {
		t.Fatal(err)
	}
	// Stopped before the plain text was removed, with half a line more.
	if err := os.WriteFile(plain+moved, append(before, `{"table":"2a"`...), 0o644); err != nil {
		t.Fatal(err)
	}
	count(s, 1, 2)
	if err := s.Pack("2a", "mnist", all); err != nil {
		t.Fatal(err)
	}
	if again, err := os.ReadFile(plain + ".gz"); err != nil || string(again) != string(first) {
		t.Errorf("%v: the same lines have other bytes", err)
	}
	if _, err := os.Stat(plain + moved); err == nil {
		t.Error("what was moved is still there")
	}
	s = pack(dir, 3)
	count(s, 1, 2, 3)
	if err := s.Pack("2a", "mnist", func(r Result) bool { return r.Seed != 2 }); err != nil {
		t.Fatal(err)
	}
	count(s, 1, 3)
}
