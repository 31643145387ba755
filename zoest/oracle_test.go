package zoest

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
)

// TestWindowChangesNothing checks that the estimates are bit-identical for any window size, because answers are applied
// in the order of the stage.
func TestWindowChangesNothing(t *testing.T) {
	all(t, func(t *testing.T, cfg Config) {
		for _, cfg.Kind = range []Kind{Paper, Tracking} {
			cfg.Window = 0
			want := estimates(t, cfg, wild)
			for _, cfg.Window = range []int{1, 2, 5, 7, 100} {
				if err := sameBits(estimates(t, cfg, wild), want); err != nil {
					t.Errorf("kind %v, window %d: %v", cfg.Kind, cfg.Window, err)
				}
			}
		}
	})
}

// TestWindowRefusesAsOne checks that if one loss in a window is unusable, Answer accepts none of the losses, the error
// names the sample, and the same queries remain open.
func TestWindowRefusesAsOne(t *testing.T) {
	e := newTest(t, Config{Dim: 2, Samples: 5, Seed: 1, Window: 3})
	e.Fill(0, []float32{1, 2}, 0.5)
	before := e.Next()
	for _, losses := range [][]float64{{1, math.NaN(), 1}, {1, 1}, {1, 1, 1, 1}, {}} {
		if err := e.Answer(losses...); err == nil {
			t.Errorf("%v was accepted", losses)
		}
	}
	if err := e.Answer(1, math.NaN(), 1); !strings.Contains(err.Error(), "sample 1") {
		t.Errorf("error %v, want one that names sample 1", err)
	}
	if after := e.Next(); len(after) != 3 || &after[0].Point[0] != &before[0].Point[0] || e.count != 0 {
		t.Errorf("queries %v are open after a refusal, want %v", after, before)
	}
}

// script is an oracle that gets its answers from a function and counts the calls.
type script struct {
	single, batched int
	answer          func(call, sample int) (float64, error)
	batchErr        error
}

func (s *script) Loss(_ context.Context, _ []float32, sample int) (float64, error) {
	s.single++
	return s.answer(s.single, sample)
}

// batchScript is a script that also implements [BatchOracle].
type batchScript struct{ script }

func (s *batchScript) Losses(_ context.Context, queries []Query, losses []float64) error {
	s.batched++
	for i, q := range queries {
		losses[i], _ = s.answer(0, q.Sample)
	}
	return s.batchErr
}

func questions(n int) []Query {
	qs := make([]Query, n)
	for i := range qs {
		qs[i] = Query{Point: []float32{float32(i), 2, 3, 4, 5, 6, 7}, Sample: i}
	}
	return qs
}

// TestAsk checks that Ask retries only the failed queries and does not change them. A query that remains without an
// answer must have the loss NaN, and the error must name it.
func TestAsk(t *testing.T) {
	down := errors.New("scorer is down")
	losses := make([]float64, 4)

	flaky := &script{answer: func(call, sample int) (float64, error) {
		if call == 2 || call == 3 { // sample 1, twice
			return 0, down
		}
		return float64(sample), nil
	}}
	if err := Ask(t.Context(), flaky, questions(4), losses, 2); err != nil || flaky.single != 6 || losses[1] != 1 ||
		losses[3] != 3 {
		t.Errorf("flaky: %v after %d calls, losses %v", err, flaky.single, losses)
	}

	for _, bad := range []float64{math.NaN(), math.Inf(-1), 1e31} {
		stuck := &script{answer: func(_, sample int) (float64, error) {
			if sample == 2 {
				return bad, nil
			}
			return 1, nil
		}}
		err := Ask(t.Context(), stuck, questions(4), losses, 3)
		if err == nil || !math.IsNaN(losses[2]) || losses[3] != 1 || stuck.single != 4+3 {
			t.Errorf("loss %v: %v after %d calls, losses %v", bad, err, stuck.single, losses)
		}
		if want := "sample 2 at point [2 2 3 4 5 6] ...: value is"; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}

	// If a batch call returns only some answers, Ask must make single calls for the missing ones. If the batch call
	// fails, Ask must make single calls for all queries.
	half := &batchScript{script{answer: func(call, sample int) (float64, error) {
		if call == 0 && sample%2 == 1 {
			return math.NaN(), nil
		}
		return 10 + float64(sample), nil
	}}}
	if err := Ask(t.Context(), half, questions(4), losses, 1); err != nil || half.batched != 1 || half.single != 2 ||
		losses[3] != 13 {
		t.Errorf("batch: %v after %d and %d calls, losses %v", err, half.batched, half.single, losses)
	}
	half.batchErr, half.single = down, 0
	if err := Ask(t.Context(), half, questions(4), losses, 1); err != nil || half.single != 4 {
		t.Errorf("failed batch: %v after %d single calls", err, half.single)
	}
	if err := Ask(t.Context(), half, questions(4), losses, 0); err != nil || losses[0] != 10 { // a failed batch uses up no try
		t.Errorf("failed batch without retries: %v, losses %v", err, losses)
	}
	half.single, half.answer = 0, func(int, int) (float64, error) { return 0, down }
	if err := Ask(t.Context(), half, questions(4), losses, 2); err == nil || half.single != 4*3 {
		t.Errorf("failed batch, no answers: %v after %d single calls", err, half.single)
	}

	ctx, cancel := context.WithCancel(t.Context())
	dying := &script{answer: func(int, int) (float64, error) { cancel(); return 0, down }}
	if err := Ask(ctx, dying, questions(4), losses, 5); !errors.Is(err, context.Canceled) || dying.single != 1 {
		t.Errorf("canceled: %v after %d calls", err, dying.single)
	}
}

// TestAskSurvivesPanics checks that a panic of the oracle becomes the error of its query, and that all other queries
// get their answers.
func TestAskSurvivesPanics(t *testing.T) {
	o := OracleFunc(func(_ context.Context, _ []float32, sample int) (float64, error) {
		if sample == 1 {
			panic("broken")
		}
		return float64(sample), nil
	})
	losses := make([]float64, 3)
	err := Ask(t.Context(), o, []Query{{Sample: 0}, {Sample: 1}, {Sample: 2}}, losses, 2)
	if err == nil || !strings.Contains(err.Error(), "loss of sample 1") || !strings.Contains(err.Error(), "the oracle panicked: broken") {
		t.Errorf("error %v", err)
	}
	if losses[0] != 0 || !math.IsNaN(losses[1]) || losses[2] != 2 {
		t.Errorf("losses %v", losses)
	}
}
