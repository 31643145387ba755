package scorer_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/sdk/scorer"
	"github.com/spade-dfl/spade-edge/tinytest"
	"github.com/spade-dfl/spade-edge/zoest"
)

// config returns the configuration of a stream whose program is this test binary, called with args.
func config(t testing.TB, format scorer.Format, args ...string) scorer.StreamConfig {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return scorer.StreamConfig{
		Program: scorer.Program{Environment: []string{"GORACE"},
			Command: append([]string{self, asScorer, string(format)}, args...),
			Backoff: 10 * time.Millisecond},
		Format: format,
	}
}

func open(t testing.TB, cfg scorer.StreamConfig) *scorer.Oracle {
	t.Helper()
	s, err := scorer.OpenStream(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func works(t *testing.T, o zoest.Oracle) {
	t.Helper()
	for h := range samples {
		x := []float32{0.1, float32(h), -2.5e-7}
		losses := make([]float64, 1)
		if err := zoest.Ask(t.Context(), o, []zoest.Query{{Point: x, Sample: h}}, losses, 10); err != nil {
			t.Fatal(err)
		}
		if want := lossOf(x, h); losses[0] != want {
			t.Fatalf("loss of sample %d is %v, want %v", h, losses[0], want)
		}
	}
}

func TestStreamIsAnOracle(t *testing.T) {
	t.Parallel()
	for format, workers := range map[scorer.Format]int{scorer.JSON: 1, scorer.CBOR: 3} {
		cfg := config(t, format, "well")
		cfg.Workers = workers
		s := open(t, cfg)
		if s.Dim() != dim || s.Samples() != samples {
			t.Fatalf("dim %d, samples %d, want %d and %d", s.Dim(), s.Samples(), dim, samples)
		}
		works(t, s)
		if err := tinytest.TestOracle(s, dim, samples); err != nil {
			t.Error(err)
		}
	}
}

// mixed returns n queries; the query at index trigger makes the program misbehave.
func mixed(n int) []zoest.Query {
	var queries []zoest.Query
	for i := range n {
		q := zoest.Query{Point: []float32{float32(i), 0.25, -1}, Sample: i % samples}
		if i == trigger && n > trigger {
			q.Point[2] = 4
		}
		queries = append(queries, q)
	}
	return queries
}

// TestChildrenLeft checks that a query fails if the program exits but leaves a child that holds the pipes open, and
// that the next query starts the program again.
func TestChildrenLeft(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("looks into /proc")
	}
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pid")
	s := open(t, config(t, scorer.CBOR, "leaves a child", path))
	_, err := s.Loss(t.Context(), []float32{trigger, 0, 0}, 0)
	if err == nil || !strings.Contains(err.Error(), "has ended: exit status 0") {
		t.Fatalf("error %v", err)
	}
	works(t, s)
	gone(t, pidIn(t, path))
}

// pidIn returns the process ID that a file contains.
func pidIn(t *testing.T, path string) int {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// gone waits until a process has disappeared or is a zombie.
func gone(t *testing.T, pid int) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("process %d is there: %s", pid, stat)
		}
	}
}

// TestCloseIsFirm closes programs that ignore requests to end. TestMain later checks that no process is left.
func TestCloseIsFirm(t *testing.T) {
	t.Parallel()
	s := open(t, config(t, scorer.JSON, "ignores SIGTERM"))
	works(t, s)
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Loss(t.Context(), make([]float32, dim), 0); err == nil ||
		err.Error() != "scorer: the oracle is closed" {
		t.Errorf("error %v", err)
	}
	if err := s.Losses(t.Context(), mixed(3), make([]float64, 3)); err == nil {
		t.Error("no error")
	}
}

func TestCloseFailsWhatWaits(t *testing.T) {
	t.Parallel()
	s := open(t, config(t, scorer.JSON, "hangs"))
	failed := make(chan error)
	go func() {
		queries := mixed(20)
		failed <- s.Losses(t.Context(), queries[trigger:trigger+1], make([]float64, 1))
	}()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-failed; err == nil || err.Error() != "scorer: the oracle is closed" {
		t.Errorf("error %v", err)
	}
}

// TestContext checks calls whose context ends early: as soon as a call returns, the caller may change the points, and
// later answers have no effect.
func TestContext(t *testing.T) {
	t.Parallel()
	s := open(t, config(t, scorer.CBOR, "hangs"))
	for range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		queries := mixed(samples)
		done := make(chan error)
		go func() { done <- s.Losses(ctx, queries, make([]float64, len(queries))) }()
		cancel()
		err := <-done
		for _, q := range queries {
			clear(q.Point) // the race detector reports an error if another goroutine still reads the point
		}
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	works(t, s)
}

// TestDiesWithTheNode checks that programs end when their node is killed, even programs that ignore the end of their
// input.
func TestDiesWithTheNode(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux promises that")
	}
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "pid")
	parent := exec.Command(self, asScorer, "json", "is a node", path)
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	_, errRead := io.ReadFull(out, make([]byte, len("ready")))
	if err := parent.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = parent.Wait() // killed
	if errRead != nil {
		t.Fatal(errRead)
	}
	gone(t, pidIn(t, path))
}

func TestBadQueries(t *testing.T) {
	t.Parallel()
	s := open(t, config(t, scorer.JSON, "well"))
	nan := float32(math.NaN())
	for _, c := range []struct {
		q    zoest.Query
		want string
	}{
		{zoest.Query{Point: make([]float32, 2)}, "scorer: the query point has 2 parameters, want 3"},
		{zoest.Query{Point: make([]float32, 3), Sample: samples}, "scorer: sample is 5, want 0..4"},
		{zoest.Query{Point: make([]float32, 3), Sample: -1}, "scorer: sample is -1, want 0..4"},
		{zoest.Query{Point: []float32{0, nan, 0}}, "scorer: parameter 1 is NaN, want a finite number"},
	} {
		if _, err := s.Loss(t.Context(), c.q.Point, c.q.Sample); err == nil || err.Error() != c.want {
			t.Errorf("error %v, want %s", err, c.want)
		}
		losses := make([]float64, 2)
		if err := s.Losses(t.Context(), []zoest.Query{c.q, mixed(1)[0]}, losses); err != nil || !math.IsNaN(losses[0]) ||
			math.IsNaN(losses[1]) {
			t.Errorf("%v, error %v, want NaN and a number", losses, err)
		}
	}
	if err := s.Losses(t.Context(), mixed(2), make([]float64, 1)); err == nil {
		t.Error("no error")
	}
	if err := s.Losses(t.Context(), nil, nil); err != nil {
		t.Error(err)
	}
}

// TestBroken checks that queries to a program that dies repeatedly fail at once, except for one query after each pause.
func TestBroken(t *testing.T) {
	t.Parallel()
	flag := filepath.Join(t.TempDir(), "flag")
	cfg := config(t, scorer.JSON, "dies for good", flag)
	cfg.Backoff = time.Second // so long that the second query below comes before the next retry
	s := open(t, cfg)
	works(t, s)
	losses := make([]float64, 40)
	err := s.Losses(t.Context(), mixed(40), losses)
	if err == nil { // some queries were answered before the query that kills the program
		err = s.Losses(t.Context(), mixed(5), losses[:5])
	}
	if err == nil || !strings.Contains(err.Error(), "scorer: the program is broken: 8 processes have failed since the last answer; the last error: scorer: worker 1 (") ||
		!strings.Contains(err.Error(), "has ended: exit status 7") {
		t.Fatalf("error %v", err)
	}
	if !slices.ContainsFunc(losses, math.IsNaN) {
		t.Errorf("losses %v", losses)
	}
	if err := os.Remove(flag); err != nil {
		t.Fatal(err)
	}
	for { // repeat until the next retry
		if _, err = s.Loss(t.Context(), make([]float32, dim), 0); err == nil {
			break
		}
	}
	works(t, s)
}
