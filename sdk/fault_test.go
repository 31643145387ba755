package sdk_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/tinytest"
	"github.com/spade-dfl/spade-edge/zoest"
)

// TestRepeatsAreNoProgress simulates two nodes in the middle of a path that lose their first frames while their outer
// neighbors repeat messages every 10 ms for a second. The repeated messages are not progress, and must not keep the two nodes
// from resending after 40 ms.
func TestRepeatsAreNoProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := graphOf(ring(), "abcd", "ab", "bc", "cd")
		trs := inMemory(t, f)
		for i := range trs {
			trs[i] = linked(f, trs, i, func(p tinytest.Packet) (all []tinytest.Packet) {
				if i == 1 || i == 2 {
					return slices.Repeat([]tinytest.Packet{p}, min(1, p.Seq))
				}
				for range 100 {
					all = append(all, p)
					p.Delay += 10 * time.Millisecond
				}
				return all
			})
			defer trs[i].Close() // ends late repeats
		}
		began := time.Now()
		mustRun(t, nodes(t, f, trs, func(_ int, c *sdk.Config) { c.ResendAfter = 40 * time.Millisecond }))
		if took := time.Since(began); took > time.Second/2 {
			t.Errorf("the run took %v", took)
		}
	})
}

// TestStopAndGoOn checks that Run stops when its context ends, even during a query, and that another call of Run
// continues from the same point. A second concurrent Run fails, because it would act as a second client with the same name.
func TestStopAndGoOn(t *testing.T) {
	f := privateRing()
	var stop context.CancelFunc
	count := 0
	var all []*sdk.Node
	all = nodes(t, f, inMemory(t, f), func(i int, c *sdk.Config) {
		if i != 0 {
			return
		}
		inner := oracle(0)
		c.Oracle = sdk.OracleFunc(func(ctx context.Context, x []float32, h int) (float64, error) {
			if count++; count%17 == 0 {
				if err := all[0].Run(ctx); err == nil || !strings.Contains(err.Error(), "already") {
					t.Errorf("a second Run: %v", err)
				}
				stop()
				return 0, ctx.Err()
			}
			return inner(ctx, x, h)
		})
	})
	rest := make(chan error)
	go func() { rest <- errors.Join(runAll(t.Context(), all[1:])...) }()
	stops := 0
	for {
		var ctx context.Context
		ctx, stop = context.WithCancel(t.Context())
		err := all[0].Run(ctx)
		stop()
		if err == nil {
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		stops++
	}
	if err := <-rest; err != nil || stops == 0 {
		t.Errorf("the node was stopped %d times: %v", stops, err)
	}
	sameModels(t, all, simulated(t, f))
}

// TestForeignFrames checks that frames from a stranger, or from a member that is not a neighbor, are refused and
// counted, and do not affect the run.
func TestForeignFrames(t *testing.T) {
	f := ring()
	wide := *f
	wide.Members = append(slices.Clone(f.Members), "stranger")
	trs := inMemory(t, &wide)
	for _, junk := range []string{"", "hello", strings.Repeat("\xa1", 200)} {
		ok(t, trs[5].Send(t.Context(), "b", []byte(junk)))
	}
	// Member a, which is not a neighbor of d, sends d a well-formed frame.
	var once sync.Once
	trs[0] = linked(f, trs, 0, func(p tinytest.Packet) []tinytest.Packet {
		all := []tinytest.Packet{p}
		once.Do(func() { p.To = "d"; all = append(all, p) })
		return all
	})
	all := nodes(t, f, trs, nil)
	mustRun(t, all)
	sameModels(t, all, simulated(t, f))
	if st := all[1].Status(); st.Refused != 3 {
		t.Errorf("b refused %d frames, want 3", st.Refused)
	}
	if st := all[3].Status(); st.Refused != 1 {
		t.Errorf("d refused %d frames, want the one that a sent astray", st.Refused)
	}
}

// batched is an oracle that answers many queries at once. It occasionally omits the last answer, so that the node must
// repeat the query.
type batched struct {
	sdk.OracleFunc
	calls, largest int
}

func (b *batched) Losses(ctx context.Context, queries []zoest.Query, losses []float64) error {
	b.calls++
	b.largest = max(b.largest, len(queries))
	for i, q := range queries {
		losses[i], _ = b.Loss(ctx, q.Point, q.Sample)
	}
	if b.calls%5 == 0 {
		losses[len(losses)-1] = math.NaN()
	}
	return nil
}

// TestBatchOracle checks that batches, a window and retries do not change the result.
func TestBatchOracle(t *testing.T) {
	f := privateRing()
	oracles := make([]*batched, len(f.Members))
	all := nodes(t, f, inMemory(t, f), func(i int, c *sdk.Config) {
		oracles[i] = &batched{OracleFunc: oracle(i)}
		c.Oracle = oracles[i]
		c.Window = i // 0 means 16
	})
	mustRun(t, all)
	sameModels(t, all, simulated(t, f))
	if oracles[0].largest != 7 || oracles[1].calls != 0 || oracles[3].largest != 3 {
		t.Errorf("largest batches %d and %d of windows 16 and 3, want 7 (a table) and 3; %d calls at window 1, want none",
			oracles[0].largest, oracles[3].largest, oracles[1].calls)
	}
	for i, n := range all {
		if st := n.Status(); st.FailedQueries != 0 {
			t.Errorf("node %d: %d failed queries in spite of retries", i, st.FailedQueries)
		}
	}
}

// TestLastWordOverAFullLink simulates a link that carries one frame at a time and, once all nodes have what they need,
// is full of repeated frames. Done messages must still get through; otherwise a node would wait until Linger expires.
func TestLastWordOverAFullLink(t *testing.T) {
	t.Parallel()
	for _, resend := range []time.Duration{7 * time.Millisecond, 60 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			f := ring()
			f.Members, f.Edges = []string{"a", "b"}, [][2]string{{"a", "b"}}
			trs := inMemory(t, f)
			all := nodes(t, f, trs, func(i int, c *sdk.Config) {
				c.ResendAfter, c.Linger = resend, time.Hour
				c.Transport = linked(f, trs, i, func(p tinytest.Packet) []tinytest.Packet {
					time.Sleep(time.Second / 3)
					return []tinytest.Packet{p}
				})
			})
			begin := time.Now()
			mustRun(t, all)
			if took := time.Since(begin); took > time.Minute {
				t.Errorf("repeats after %v: the run took %v", resend, took)
			}
		})
	}
}
