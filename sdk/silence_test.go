package sdk_test

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/tinytest"
	"github.com/spade-dfl/spade-edge/transport"
	"github.com/spade-dfl/spade-edge/zoest"
)

// rare is a batch oracle that panics at one sample. The panic leaves the whole batch without losses.
type rare struct{ sdk.OracleFunc }

func (r rare) Losses(ctx context.Context, queries []zoest.Query, losses []float64) (err error) {
	for i, q := range queries {
		losses[i], err = r.Loss(ctx, q.Point, q.Sample)
	}
	return err
}

// TestDeadlySample checks that in a private run a sample at which the oracle panics is treated as a sample without a
// loss. The panic must be logged only at level DEBUG, because lines of this level stay on the device.
func TestDeadlySample(t *testing.T) {
	for _, many := range []bool{false, true} {
		f := privateRing()
		var log bytes.Buffer
		all := nodes(t, f, inMemory(t, f), func(i int, cfg *sdk.Config) {
			if i != 3 {
				return
			}
			inner := oracle(3)
			deadly := sdk.OracleFunc(func(ctx context.Context, x []float32, h int) (float64, error) {
				if h == 4 {
					panic("patient 4711")
				}
				return inner(ctx, x, h)
			})
			cfg.Oracle = deadly
			if many {
				cfg.Oracle = rare{deadly}
			}
			cfg.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		})
		mustRun(t, all)
		if st := all[3].Status(); st.FailedQueries == 0 || st.FailedQueries == st.Queries {
			t.Errorf("batches %v: %d of %d queries failed", many, st.FailedQueries, st.Queries)
		}
		debug, more := "", ""
		for line := range strings.Lines(log.String()) {
			if strings.Contains(line, " level=DEBUG ") {
				debug += line
			} else {
				more += line
			}
		}
		for _, word := range []string{"a loss is unavailable", "4711", "sample 4", "no loss"} {
			if strings.Contains(more, word) {
				t.Errorf("batches %v: %q in the log above DEBUG:\n%s", many, word, more)
			}
		}
		if !strings.Contains(debug, "a loss is unavailable") || !strings.Contains(debug, "4711") {
			t.Errorf("batches %v: the log does not say why there was no loss:\n%s", many, debug)
		}
	}
}

// TestPanicIsTheEnd checks that a node whose Run panicked refuses to continue, because its last release may not have
// been stored.
func TestPanicIsTheEnd(t *testing.T) {
	f := only(1, privateRing())
	saves := 0
	store := saving{memStore(t), func(state.Record) error {
		if saves++; saves == 2 {
			panic("disk on fire")
		}
		return nil
	}}
	n := nodes(t, f, inMemory(t, f), func(_ int, c *sdk.Config) { c.Store = store })[0]
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		_ = n.Run(t.Context())
	}()
	if err := n.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "ended in a panic") || saves != 2 {
		t.Errorf("after %d saves: %v", saves, err)
	}
}

// reopened is a transport that, when the test requests it, reports that the connection to node "a" has opened again.
type reopened struct {
	transport.Transport
	opened chan string
}

func (r *reopened) Opened() <-chan string { return r.opened }

// TestReachedAtWork checks that a neighbor that reconnects while a node is computing the next round receives the node's
// last release at once, before the computation ends.
func TestReachedAtWork(t *testing.T) {
	f := only(2, privateRing())
	trs := inMemory(t, f)
	opened, second, rounds := make(chan string, 1), make(chan struct{}), []int(nil)
	trs[1] = &reopened{linked(f, trs, 1, messages(t, f, func(_ tinytest.Packet, m admm.Message) []admm.Message {
		if m.Kind == admm.Release && !m.Resent {
			if m.Round == 2 && !slices.Contains(rounds, 2) {
				close(second)
			}
			rounds = append(rounds, m.Round)
		}
		return []admm.Message{m}
	})), opened}
	var b *sdk.Node
	told := false
	// Node "a" must not make its third release before "b" does, because that release would confirm that the second
	// release of "b" arrived.
	third := make(chan struct{})
	all := nodes(t, f, trs, func(i int, c *sdk.Config) {
		c.ResendAfter = time.Hour // no tick
		inner := oracle(i)
		if i == 0 {
			releases := 0
			c.Events.Released = func(round int, _ []float32) { releases = round }
			c.Oracle = sdk.OracleFunc(func(ctx context.Context, x []float32, h int) (float64, error) {
				if releases == 2 {
					<-third
				}
				return inner(ctx, x, h)
			})
			return
		}
		c.Events.Released = func(round int, _ []float32) {
			if round == 3 {
				close(third)
			}
		}
		c.Oracle = sdk.OracleFunc(func(ctx context.Context, x []float32, h int) (float64, error) {
			if !told && b.Status().Round == 2 {
				told = true
				<-second
				opened <- "a"
			}
			return inner(ctx, x, h)
		})
	})
	b = all[1]
	mustRun(t, all)
	if i := slices.Index(rounds, 3); !told || !slices.Equal(rounds[:max(i, 0)], []int{1, 2, 2}) {
		t.Errorf("releases sent: %v, want the second twice, and then the third", rounds)
	}
}
