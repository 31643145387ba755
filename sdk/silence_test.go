package sdk_test

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/wire"
	"github.com/spade-dfl/spade-edge/transport"
)

// rare is a batch oracle that panics at a sample: it works on all of a batch, or on none of it.
type rare struct{ sdk.OracleFunc }

func (r rare) Losses(ctx context.Context, queries []sdk.Query, losses []float64) (err error) {
	for i, q := range queries {
		losses[i], err = r.Loss(ctx, q.Point, q.Sample)
	}
	return err
}

// In a private run a sample that the oracle dies of counts as one that it has no loss for, and no log line says which.
func TestDeadlySample(t *testing.T) {
	for _, many := range []bool{false, true} {
		f := privateRing()
		var log bytes.Buffer
		all := nodes(t, f, inMemory(t, f), func(i int, c *sdk.Config) {
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
			c.Oracle = deadly
			if many {
				c.Oracle = rare{deadly}
			}
			c.Logger = slog.New(slog.NewTextHandler(&log, nil))
		})
		mustRun(t, all)
		if st := all[3].Status(); st.FailedQueries == 0 || st.FailedQueries == st.Queries {
			t.Errorf("many %v: %d of %d queries failed", many, st.FailedQueries, st.Queries)
		}
		if text := log.String(); strings.Count(text, "losses cannot be had") != 1 || strings.Contains(text, "4711") || strings.Contains(text, "sample 4") {
			t.Errorf("many %v: log is\n%s", many, text)
		}
	}
}

// A node whose Run has ended in a panic does not go on: nobody knows whether its last release was kept.
func TestPanicIsTheEnd(t *testing.T) {
	f := privateRing()
	f.Members, f.Edges = f.Members[:1], nil
	store := &fragile{}
	n := nodes(t, f, inMemory(t, f), func(_ int, c *sdk.Config) { c.Store = store })[0]
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		_ = n.Run(t.Context())
	}()
	if err := n.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "ended in a panic") || store.saves != 2 {
		t.Errorf("after %d saves: %v", store.saves, err)
	}
}

// fragile is a store that panics at the second save.
type fragile struct{ saves int }

func (s *fragile) Load() ([]sdk.Saved, error) { return nil, nil }
func (s *fragile) Close() error               { return nil }
func (s *fragile) Save(sdk.Saved) error {
	if s.saves++; s.saves == 2 {
		panic("disk on fire")
	}
	return nil
}

// reopened is a transport whose connection with a is made anew when the test says so.
type reopened struct {
	transport.Transport
	opened chan string
	rounds []int         // of the releases sent
	again  chan struct{} // closed when the second release has been sent twice
	codec  *wire.Codec
}

func (r *reopened) Opened() <-chan string { return r.opened }

func (r *reopened) Send(ctx context.Context, to string, frame []byte) error {
	var f wire.Frame
	if err := r.codec.Decode(frame, &f); err != nil {
		return err
	}
	if f.Kind == wire.Release && !f.Resent {
		if r.rounds = append(r.rounds, f.Round); slices.Equal(r.rounds, []int{1, 2, 2}) {
			close(r.again)
		}
	}
	return r.Transport.Send(ctx, to, frame)
}

// A neighbor that comes back while a node is at work on the next round gets the last release again, and not only when that work is over.
func TestReachedAtWork(t *testing.T) {
	f := privateRing()
	f.Members, f.Edges = f.Members[:2], f.Edges[:1]
	codec, err := wire.NewCodec(f.Dim)
	if err != nil {
		t.Fatal(err)
	}
	trs := inMemory(t, f)
	tr := &reopened{Transport: trs[1], opened: make(chan string, 1), again: make(chan struct{}), codec: codec}
	trs[1] = tr
	told := false
	var a, b *sdk.Node
	all := nodes(t, f, trs, func(i int, c *sdk.Config) {
		c.ResendAfter = 1 << 40 // no tick
		if i == 0 {             // a stays at work on its third release until then, for with it b would have nothing to repeat
			inner := oracle(0)
			c.Oracle = sdk.OracleFunc(func(ctx context.Context, x []float32, h int) (float64, error) {
				if a.Status().Round == 2 {
					select {
					case <-tr.again:
					case <-ctx.Done():
					}
				}
				return inner(ctx, x, h)
			})
		}
		if i == 1 {
			inner := oracle(1)
			c.Oracle = sdk.OracleFunc(func(ctx context.Context, x []float32, h int) (float64, error) {
				if b.Status().Round == 2 && !told {
					told = true
					tr.opened <- "a"
				}
				return inner(ctx, x, h)
			})
		}
	})
	a, b = all[0], all[1]
	mustRun(t, all)
	if i := slices.Index(tr.rounds, 3); !told || !slices.Equal(tr.rounds[:max(i, 0)], []int{1, 2, 2}) {
		t.Errorf("releases sent: %v, want the second twice, and then the third", tr.rounds)
	}
}
