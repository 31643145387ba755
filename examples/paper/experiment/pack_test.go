package experiment

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/spade-dfl/spade-edge/examples/paper/method"
)

// TestPack packs results twice, with a run between, and drops what is not kept: all lines are read, in order, the file
// has the same bytes for the same lines, and a program that was stopped before it removed the plain text loses nothing.
func TestPack(t *testing.T) {
	all := func(Result) bool { return true }
	pack := func(dir string, seeds ...uint64) *Store {
		s, err := NewStore(dir, Session{})
		for _, seed := range seeds {
			if err == nil {
				err = s.Add(Result{Job: Job{Table: "2a", Dataset: "mnist", Method: "m", Seed: seed},
					Accuracy: float64(seed) / 3})
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

// TestTrials: a trial is found in the plain file and in the compressed one, one that was cut off is not, and the header
// stands once.
func TestTrials(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trials.csv")
	for trial := range 3 {
		b, err := openTrials(path)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			if score, ok := b.find("k", i, 7); ok != (i < trial) || ok && score != float64(i) {
				t.Fatalf("before trial %d: trial %d is %v, %v", trial, i, score, ok)
			}
		}
		if err := b.add("k", trial, 7, float64(trial), 0.5, method.Setting{"x": 1, "y": 2}, "a \"note\",\nof two lines"); err != nil {
			t.Fatal(err)
		}
		if trial == 1 {
			if err := appendTo(path, []byte(`k,2,7,2,0.5,"x=1`)); err != nil {
				t.Fatal(err)
			}
			if err := b.pack(); err != nil {
				t.Fatal(err)
			}
		}
	}
	text, err := unpack(path, moved, "")
	if want := 4; err != nil || bytes.Count(bytes.TrimSpace(text), []byte("\n")) != want-1 {
		t.Errorf("%v:\n%s\nwant %d lines", err, text, want)
	}
}

// TestDoDropsOtherSettings: a run with a setting that is no longer chosen goes, of a cell that is asked for alone.
func TestDoDropsOtherSettings(t *testing.T) {
	s, err := NewStore(t.TempDir(), Session{})
	if err != nil {
		t.Fatal(err)
	}
	settings := &Settings{Choices: map[string]Choice{}}
	var jobs []Job
	for _, m := range []string{"a", "b"} {
		j := Job{Table: "2a", Dataset: "mnist", Method: m}
		settings.Choices[j.settingKey()] = Choice{Setting: method.Setting{"x": 2}}
		for seed, x := range []float64{2, 1, 2} {
			j.Seed = uint64(seed + 1)
			if err := s.Add(Result{Job: j, Setting: method.Setting{"x": x}}); err != nil {
				t.Fatal(err)
			}
			if m == "a" && x == 2 {
				jobs = append(jobs, j)
			}
		}
	}
	if err := NewLab("").Do(context.Background(), jobs, settings, s, io.Discard); err != nil {
		t.Fatal(err)
	}
	left := map[string]int{}
	results, err := s.Results("2a", "mnist")
	for _, r := range results {
		left[r.Method]++
	}
	if err != nil || left["a"] != 2 || left["b"] != 3 {
		t.Errorf("%v, %v, want 2 of a and all 3 of b", left, err)
	}
}
