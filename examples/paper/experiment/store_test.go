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

// TestKeep checks that Keep removes only unwanted, duplicate and truncated lines.
func TestKeep(t *testing.T) {
	dir := t.TempDir()
	s, err := NewStore(dir, Session{})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, name("2a", "mnist"))
	result := func(seed uint64) Result {
		return Result{Job: Job{Table: "2a", Dataset: "mnist", Method: "m", Seed: seed}, Accuracy: float64(seed) / 3}
	}
	for _, seed := range []uint64{1, 2, 3, 1} {
		if err := s.Add(result(seed)); err != nil {
			t.Fatal(err)
		}
	}
	if err := appendTo(path, []byte(`{"table":"2a"`)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Keep("2a", "mnist", func(r Result) bool { return r.Seed != 2 }); err != nil {
			t.Fatal(err)
		}
		results, err := s.Results("2a", "mnist")
		if err != nil || len(results) != 2 || results[0].Accuracy != 1.0/3 || results[1].Accuracy != 1 {
			t.Fatalf("%+v, %v, want seeds 1 and 3", results, err)
		}
		if text, err := os.ReadFile(path); err != nil || bytes.Count(text, []byte("\n")) != 3 {
			t.Fatalf("%v, %q, want a session and two results", err, text)
		}
	}
	if err := s.Keep("2b8", "mnist", func(Result) bool { return true }); err != nil {
		t.Errorf("no file: %v", err)
	}
}

// TestTrials checks that a complete trial is found and a truncated trial is not, and that the file has only one header.
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
		}
	}
	text, err := os.ReadFile(path)
	if want := 5; err != nil || bytes.Count(bytes.TrimSpace(text), []byte("\n")) != want-1 {
		t.Errorf("%v:\n%s\nwant %d lines, one of them cut off", err, text, want)
	}
}

// TestDoDropsOtherSettings checks that Do drops a run with an outdated setting, even if only other runs of its cell are
// requested.
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
