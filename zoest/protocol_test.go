package zoest

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

func TestNewEstimatorRefuses(t *testing.T) {
	for want, cfg := range map[string]Config{
		"zoest: Dim is -1, want at least 1\nzoest: Samples is -2, want 1..":                              {Dim: -1, Samples: -2},
		"zoest: Batch is -3, want 0 (all) or 1..":                                                        {Dim: 1, Samples: 4, Batch: -3},
		"zoest: Batch is 5, want 0 (all) or 1..4":                                                        {Dim: 1, Samples: 4, Batch: 5},
		fmt.Sprintf("zoest: a table of 2 samples by %d numbers does not fit into memory", math.MaxInt/4): {Dim: math.MaxInt / 4, Samples: 2},
	} {
		if e, err := NewEstimator(cfg); e != nil || err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// protocolConfig is a configuration without special cases: b is less than m, and a direction has more than one word of
// signs.
var protocolConfig = Config{Dim: 70, Samples: 6, Batch: 3, Seed: 4}

func loss(q Query) float64 { return float64(q.Point[q.Sample]) + float64(q.Sample) }

// state returns everything that affects the future behavior of an estimator, as text for comparison. It includes the
// point and direction of a query only while that query is open.
func state(e *Estimator) string {
	s := fmt.Sprint(e.round, e.step, e.mu, e.filling, e.count, len(e.room.open), e.todo, tableOf(e).rows, averageOf(e).abar, e.Estimate())
	if len(e.room.open) > 0 {
		s += fmt.Sprint(e.room.open[0].Point, e.room.answers.dirs[e.room.answers.n])
	}
	return s
}

// play performs two rounds of three steps and returns all estimates. It calls visit before every answer.
func play(t *testing.T, e *Estimator, visit func(e *Estimator, stage, query int)) [][]float32 {
	t.Helper()
	x := make([]float32, e.cfg.Dim)
	var vs [][]float32
	for round := range 2 {
		for stage := range 4 {
			for i := range x {
				x[i] = float32(round+stage) * 0.25
			}
			if stage == 0 {
				e.Fill(round, x, 0.5)
			} else {
				e.Step(x)
			}
			query := 0
			drive(t, e, func(q Query) float64 {
				visit(e, stage, query)
				query++
				return loss(q)
			})
			vs = append(vs, slices.Clone(e.Estimate()))
		}
	}
	return vs
}

// TestStagesAskOnce checks that each stage queries each of its components exactly once: all components when it fills
// the table, and the components of the batch in a step.
func TestStagesAskOnce(t *testing.T) {
	queries := map[int][]int{}
	play(t, newTest(t, protocolConfig), func(e *Estimator, stage, _ int) {
		q, _ := next(e)
		queries[stage] = append(queries[stage], q.Sample)
	})
	if want := []int{0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5}; !slices.Equal(queries[0], want) {
		t.Errorf("two tables asked for %v, want %v", queries[0], want)
	}
	for stage := 1; stage <= 3; stage++ {
		if len(queries[stage]) != 2*3 {
			t.Errorf("step %d asked %d times in two rounds, want 6", stage, len(queries[stage]))
		}
	}
}

// TestAnswerWithoutQuery checks that Answer fails if no query is open: before the first call of Next, after the answer,
// and after the end of a stage.
func TestAnswerWithoutQuery(t *testing.T) {
	refused := func(e *Estimator, when string) {
		before := state(e)
		err := e.Answer(1)
		if err == nil || err.Error() != "zoest: found 1 answers, want 0 (one for each open query)" {
			t.Errorf("%s: Answer returns %v", when, err)
		}
		if state(e) != before {
			t.Errorf("%s: the refused answer changed something", when)
		}
	}
	e := newTest(t, protocolConfig)
	x := make([]float32, protocolConfig.Dim)
	refused(e, "new")
	e.Fill(0, x, 1)
	refused(e, "nothing asked yet")
	next(e)
	if err := e.Answer(1); err != nil {
		t.Fatal(err)
	}
	refused(e, "answered already")
	next(e)
	e.Fill(0, x, 1)
	refused(e, "the query was left by a new stage")
	drive(t, e, loss)
	refused(e, "table complete")
	e.Step(x)
	refused(e, "step begun")
	drive(t, e, loss)
	refused(e, "step complete")
}

// unusable lists losses that are NaN or so large that a sum over a table could overflow.
var unusable = []float64{
	math.NaN(), math.Inf(1), math.Inf(-1), 1e300, -1e300, math.MaxFloat64, math.MaxFloat32, math.Nextafter(1e30,
		math.Inf(1)),
}

func TestUsable(t *testing.T) {
	for _, l := range unusable {
		if Usable(l) {
			t.Errorf("Usable(%v) is true", l)
		}
	}
	for _, l := range []float64{0, math.Copysign(0, -1), 1, -1e30, math.SmallestNonzeroFloat64, 1e30} {
		if !Usable(l) {
			t.Errorf("Usable(%v) is false", l)
		}
	}
}

// TestQueryStaysOpen checks that a query remains open, and nothing else changes, if Next is called again or a loss is
// unusable: all estimates equal those of an undisturbed run, bit for bit.
func TestQueryStaysOpen(t *testing.T) {
	refused := 0
	want := play(t, newTest(t, protocolConfig), func(*Estimator, int, int) {})
	got := play(t, newTest(t, protocolConfig), func(e *Estimator, stage, query int) {
		first, open := next(e)
		point, before := slices.Clone(first.Point), state(e)
		for _, l := range unusable {
			err := e.Answer(l)
			if want := fmt.Sprintf("zoest: loss of sample %d is %v, want a finite number", first.Sample, l); err == nil ||
				err.Error() != want {
				t.Fatalf("stage %d, query %d: Answer(%v) returns %v, want %s", stage, query, l, err, want)
			}
			refused++
			if q, again := next(e); !open || !again || q.Sample != first.Sample || !slices.Equal(q.Point, point) || state(e) != before {
				t.Fatalf("stage %d, query %d: after a refused loss, Next gives another query", stage, query)
			}
		}
	})
	if all := 2 * (6 + 3*3) * len(unusable); refused != all || !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("%d losses were refused, want %d; the estimates are %v, want %v", refused, all, got, want)
	}
}

// TestFillRestarts checks that Fill restarts a round in any state: while the table is being filled or during a step,
// with or without an open query.
func TestFillRestarts(t *testing.T) {
	x := make([]float32, protocolConfig.Dim)
	for i := range x {
		x[i] = float32(i) / 10
	}
	run := func(e *Estimator) string { // a table and two steps, from any state of e
		e.Fill(5, x, 0.5)
		for range 2 {
			drive(t, e, loss)
			e.Step(x)
		}
		drive(t, e, loss)
		return state(e)
	}
	want := run(newTest(t, protocolConfig))
	for answers := range 6 + 3 + 3 {
		for _, open := range []bool{false, true} {
			e := newTest(t, protocolConfig)
			e.Fill(5, x, 0.5)
			for range answers {
				q, more := next(e)
				if !more {
					e.Step(x)
					q, _ = next(e)
				}
				if err := e.Answer(100 * loss(q)); err != nil { // wrong losses: a trace of them would change the result
					t.Fatal(err)
				}
			}
			if open {
				next(e)
			}
			if run(e) != want {
				t.Errorf("restarted after %d answers (query open: %v), the round gives another result", answers, open)
			}
		}
	}
}
