package scorer_test

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/sdk/scorer"
	"github.com/spade-dfl/spade-edge/tinytest"
	"github.com/spade-dfl/spade-edge/zoest"
)

// shot makes the test binary a program that is started for each query.
func shot(t testing.TB, how string, more ...string) scorer.OneShotConfig {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return scorer.OneShotConfig{
		Program: scorer.Program{Environment: []string{"GORACE"}, Command: append([]string{self, asScorer, "oneshot", how, "{sample}"}, more...), Workers: 2,
			Backoff: 10 * time.Millisecond},
		Samples: samples,
	}
}

func openShot(t testing.TB, cfg scorer.OneShotConfig) *scorer.Oracle {
	t.Helper()
	o, err := scorer.OpenOneShot(cfg, dim)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	})
	return o
}

func TestOneShotIsAnOracle(t *testing.T) {
	t.Parallel()
	o := openShot(t, shot(t, "well", "{params}"))
	if o.Dim() != dim || o.Samples() != samples {
		t.Fatalf("dim %d, samples %d, want %d and %d", o.Dim(), o.Samples(), dim, samples)
	}
	works(t, o)
	works(t, openShot(t, shot(t, "well"))) // on standard input
	// One sample will do: each question is a process.
	if err := tinytest.TestOracle(o, dim, 1); err != nil {
		t.Error(err)
	}
}

func TestOneShotMisbehavior(t *testing.T) {
	t.Parallel()
	for how, want := range map[string]string{
		"exits":            `sample 2: has ended: exit status 3; standard error: "out of luck"`,
		"hangs":            "sample 2: has not ended within 3s",
		"closes stdout":    "sample 2: has not ended within 3s",
		"floods stdout":    `sample 2: has written more than 65536 bytes, want one number; they begin with "1111`,
		"says nothing":     "sample 2: has written nothing, want a number",
		"says more":        `sample 2: has written "loss = `,
		"says two numbers": "want one number and nothing else",
		"NaN":              `sample 2: has no loss, but nan`,
	} {
		for _, input := range []string{"", "{params}"} {
			t.Run(how+" "+input, func(t *testing.T) {
				t.Parallel()
				cfg := shot(t, how, input)
				if strings.Contains(want, "within") {
					cfg.Timeout = 3 * time.Second
				}
				o := openShot(t, cfg)
				_, err := o.Loss(t.Context(), []float32{trigger, 0, 0}, 2)
				if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "scorer: worker ") {
					t.Fatalf("error %v, want scorer: worker ... %s", err, want)
				}
				if cfg.Timeout > 0 { // too short for a machine that is busy
					cfg.Timeout = 0
					o = openShot(t, cfg)
				}
				works(t, o)
			})
		}
	}
}

// What is left of a program when it has answered does not count.
func TestOneShotChildrenLeft(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("looks into /proc")
	}
	t.Parallel()
	for _, how := range []string{"leaves a child", "leaves a child elsewhere"} {
		path := filepath.Join(t.TempDir(), "pid")
		o := openShot(t, shot(t, how, "{params}", path))
		loss, err := o.Loss(t.Context(), []float32{trigger, 0, 0}, 2)
		if want := lossOf([]float32{trigger, 0, 0}, 2); loss != want || err != nil {
			t.Errorf("%s: loss %v, error %v, want %v", how, loss, err, want)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		pid, err := strconv.Atoi(string(text))
		if err != nil {
			t.Fatal(err)
		}
		if how == "leaves a child elsewhere" {
			killProcess(pid)
		}
		gone(t, pid)
	}
}

// A program need not read what it has no use for.
func TestOneShotInputUnread(t *testing.T) {
	t.Parallel()
	cfg := shot(t, "does not read")
	o, err := scorer.OpenOneShot(cfg, 1<<20) // more than a pipe holds
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if loss, err := o.Loss(t.Context(), make([]float32, 1<<20), 0); loss != 7 || err != nil {
		t.Errorf("loss %v, error %v, want 7", loss, err)
	}
}

func TestOneShotLosses(t *testing.T) {
	t.Parallel()
	o := openShot(t, shot(t, "exits", "{params}"))
	queries := mixed(trigger + 1)[trigger-3:]
	losses := make([]float64, len(queries))
	if err := o.Losses(t.Context(), queries, losses); err != nil {
		t.Fatal(err)
	}
	for i, loss := range losses {
		want := lossOf(queries[i].Point, queries[i].Sample)
		if i == 3 {
			want = math.NaN()
		}
		if math.Float64bits(loss) != math.Float64bits(want) {
			t.Errorf("loss %d is %v, want %v", i, loss, want)
		}
	}
	if err := o.Losses(t.Context(), queries[3:], losses[3:]); err == nil {
		t.Error("no error where there is no answer")
	}
	if err := o.Losses(t.Context(), queries, losses[:1]); err == nil {
		t.Error("no error")
	}
	if _, err := o.Loss(t.Context(), make([]float32, 2), 0); err == nil {
		t.Error("no error")
	}
}

// A program that is always out of time counts as broken.
func TestOneShotBroken(t *testing.T) {
	t.Parallel()
	cfg := shot(t, "hangs")
	cfg.Timeout, cfg.Backoff, cfg.Workers = time.Millisecond, time.Hour, 8
	o := openShot(t, cfg)
	queries := make([]zoest.Query, 40)
	for i := range queries {
		queries[i] = zoest.Query{Point: []float32{trigger, 0, 0}}
	}
	err := o.Losses(t.Context(), queries, make([]float64, len(queries)))
	if err == nil {
		t.Fatal("no error")
	}
	if _, err = o.Loss(t.Context(), queries[0].Point, 0); err == nil ||
		!strings.Contains(err.Error(), "failures and no answer since; the last: scorer: worker ") {
		t.Errorf("error %v", err)
	}
}

func TestOneShotEnds(t *testing.T) {
	t.Parallel()
	o := openShot(t, shot(t, "hangs", "{params}"))
	ask := func(ctx context.Context) chan error {
		failed := make(chan error, 1)
		go func() {
			_, err := o.Loss(ctx, []float32{trigger, 0, 0}, 0)
			failed <- err
		}()
		return failed
	}
	ctx, cancel := context.WithCancel(t.Context())
	failed := ask(ctx)
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	failed = ask(t.Context())
	for range 2 {
		if err := o.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-failed; err == nil || err.Error() != "scorer: the oracle is closed" {
		t.Errorf("error %v", err)
	}
}
