package scorer_test

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/sdk/scorer"
	"github.com/spade-dfl/spade-edge/zoest"
)

// TestOneQueryKillsTheProgram checks that a query that kills the program has no loss and does not affect other queries
// in flight.
func TestOneQueryKillsTheProgram(t *testing.T) {
	t.Parallel()
	for workers, group := range map[int]int{1: 40, 2: 16, 5: 1} {
		cfg := config(t, scorer.CBOR, "exits")
		cfg.Workers = workers
		s := open(t, cfg)
		queries := mixed(40)
		losses := make([]float64, len(queries))
		for at := 0; at < len(queries); at += group {
			end := min(at+group, len(queries))
			if err := s.Losses(t.Context(), queries[at:end], losses[at:end]); err != nil && group > 1 {
				t.Fatal(err)
			}
		}
		for i, loss := range losses {
			want := lossOf(queries[i].Point, queries[i].Sample)
			if i == trigger {
				want = math.NaN()
			}
			if math.Float64bits(loss) != math.Float64bits(want) {
				t.Errorf("%d workers, groups of %d: loss %d is %v, want %v", workers, group, i, loss, want)
			}
		}
	}
}

// TestQueriesAreKeptApart checks a program that one query always kills. Without Program.Apart, all other queries soon
// fail, too; with it, they keep their losses.
func TestQueriesAreKeptApart(t *testing.T) {
	t.Parallel()
	for _, apart := range []bool{false, true} {
		cfg := config(t, scorer.CBOR, "exits")
		cfg.Apart = apart
		cfg.Backoff = time.Second // so long that Ask sends its queries before the next retry
		s := open(t, cfg)
		queries := mixed(40)
		for range 8 { // so many that the program counts as broken without Apart
			if loss, err := s.Loss(t.Context(), queries[trigger].Point, queries[trigger].Sample); err == nil {
				t.Fatalf("loss %v of the query that kills the program", loss)
			}
		}
		lost, losses := 0, make([]float64, len(queries))
		_ = zoest.Ask(t.Context(), s, queries, losses, 0)
		for i, loss := range losses {
			if i != trigger && math.IsNaN(loss) {
				lost++
			}
		}
		if (lost == 0) != apart {
			t.Errorf("apart %v: %d other losses are lost", apart, lost)
		}
	}
}

// TestMisbehavior checks that each way in which a process can fail causes its own error, and that the next process answers.
// Other tests check what is wrong with messages.
func TestMisbehavior(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		how    string
		format scorer.Format
		want   string
		alive  bool // the process survives
	}{
		{"exits", scorer.JSON, `has ended: exit status 3; standard error: "out of luck" (while computing sample 2)`, false},
		{"kills itself", scorer.CBOR, "has ended: ", false},
		{"answers a stranger", scorer.CBOR, "answered query 999, which is not open", false},
		{"talks nonsense", scorer.JSON, `has sent "\x06\x00\x00\x00debug", want an answer such as {"id":1,"loss":0.5}: column 1: invalid character`, false},
		{"closes stdout", scorer.JSON, "has closed its standard output but is still running", false},
		{"floods stdout", scorer.JSON, `has written a line of more than 65536 bytes, beginning with "xxx`, false},
		{"floods stderr", scorer.CBOR, `the end"`, false},
		{"stops half way and hangs", scorer.CBOR, "has not answered query 1 within 2s; a program ends each line with \"\\n\", flushes its output (in Python: " +
			"flush=True) and answers before its input ends; it wrote 7 bytes of an unfinished message", false},
		{"stops half way", scorer.JSON, "has ended: exit status 0; it wrote 7 bytes of an unfinished message", false},
		{"NaN", scorer.JSON, `query 1 (sample 2) has no loss: the program answered NaN`, true},
		{"error", scorer.CBOR, `query 1 (sample 2) has no loss: "the instrument is off"`, true},
	} {
		t.Run(c.how, func(t *testing.T) {
			t.Parallel()
			cfg := config(t, c.format, c.how)
			if strings.Contains(c.want, "within 2s") {
				cfg.Timeout = 2 * time.Second
			}
			s := open(t, cfg)
			_, err := s.Loss(t.Context(), []float32{trigger, 0, 0}, 2)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "scorer: worker 1 (") {
				t.Fatalf("error %v, want scorer: worker 1 (... %s", err, c.want)
			}
			works(t, s)
			if got := strings.Contains(err.Error(), "while computing"); got == c.alive {
				t.Errorf("the process's end is %v, want %v", got, !c.alive)
			}
		})
	}
}

// TestLateMisbehavior checks a program that fails right after a correct answer: the error must be reported with the
// next query at the latest.
func TestLateMisbehavior(t *testing.T) {
	t.Parallel()
	for how, want := range map[string]string{
		"answers twice": "answered query 1, which is not open",
		"closes stdin":  "has closed its standard input but is still running",
		"two hellos":    `unknown field "dim"`,
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			s := open(t, config(t, scorer.JSON, how))
			_, _ = s.Loss(t.Context(), []float32{trigger, 0, 0},
				2) // has a loss if the loss was returned before the program's second message was read
			works(t, s)
			awaitFailure(t, s, want)
		})
	}
}

// TestBadStart checks that OpenStream fails if a program fails before its hello.
func TestBadStart(t *testing.T) {
	t.Parallel()
	for how, want := range map[string]string{
		"exit at once": `has ended: exit status 1; standard error: "cannot read the data"`,
		"no hello":     `has not sent its hello within 300ms; a program ends each line with "\n", flushes its output`,
		"banner":       `has sent "Loading the model, please wait" as the first message, want a hello such as {"hello":1,"dim":3,"samples":20}`,
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			cfg := config(t, scorer.JSON, how)
			cfg.Workers = 2
			if how == "no hello" {
				cfg.Start = 300 * time.Millisecond
			}
			s, err := scorer.OpenStream(t.Context(), cfg)
			if err == nil || !strings.Contains(err.Error(), want) || s != nil {
				t.Fatalf("%v, error %v, want %s", s, err, want)
			}
		})
	}
}

func TestNoSuchProgram(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, command := range []string{"./absent", "absent-from-the-path", dir} {
		cfg := scorer.StreamConfig{Program: scorer.Program{Command: []string{command}, Dir: dir}}
		if _, err := scorer.OpenStream(t.Context(), cfg); err == nil || !strings.HasPrefix(err.Error(), "scorer: ") {
			t.Errorf("%s: error %v", command, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := scorer.OpenStream(ctx, config(t, scorer.JSON, "no hello")); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
}

// TestOtherHelloAfterRestart checks that a process is rejected if its hello differs from the hello of the first
// process. The error does not quote a digest, which may reveal data.
func TestOtherHelloAfterRestart(t *testing.T) {
	t.Parallel()
	for how, want := range map[string]string{
		"other samples": `has sent a hello with dim 3, samples 6 and task "", want dim 3, samples 5 and task "" as in the first hello`,
		"other data":    "has other data than the first process, by the digests in their hellos",
	} {
		s := open(t, config(t, scorer.CBOR, how, filepath.Join(t.TempDir(), "flag")))
		if _, err := s.Loss(t.Context(), []float32{trigger, 0, 0}, 0); err == nil {
			t.Fatal("no error")
		}
		works(t, s) // the third process answers
		awaitFailure(t, s, want)
		if d := (&scorer.Meter{BatchOracle: s}).Digest(); (d == "0d1") != (how == "other data") {
			t.Errorf("%s: the digest is %q", how, d)
		}
		if _, err := s.Restarts(); strings.Contains(err.Error(), "0d") {
			t.Errorf("%v quotes a digest", err)
		}
	}
}

func awaitFailure(t *testing.T, s *scorer.Oracle, want string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		_, err := s.Restarts()
		if err != nil && strings.Contains(err.Error(), want) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the newest failure is %v, want %s", err, want)
		}
	}
}
