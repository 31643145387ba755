package sdk_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/tinytest"
	"github.com/spade-dfl/spade-edge/zoest"
)

// TestFailedOracleLooksLikeAny lets one of two oracles fail in various ways. The other node must receive the same bytes
// as if the failing oracle had always returned the public constant.
func TestFailedOracleLooksLikeAny(t *testing.T) {
	const fallback = 0
	for _, change := range []func(f *sdk.Fleet){
		func(*sdk.Fleet) {},
		func(f *sdk.Fleet) { f.Method.Estimator = zoest.Tracking },
	} {
		f := only(2, privateRing())
		change(f)
		seen := func(loss float64, err error) (frames []string, a []float32, failed int64) {
			t.Helper()
			trs := inMemory(t, f)
			var mu sync.Mutex
			trs[1] = linked(f, trs, 1, messages(t, f, func(_ tinytest.Packet, m admm.Message) []admm.Message {
				mu.Lock()
				defer mu.Unlock()
				plain := m
				plain.Incarnation = 0 // random in every run
				frames = append(frames, fmt.Sprintf("%+v", plain))
				return []admm.Message{m}
			}))
			all := nodes(t, f, trs, func(i int, c *sdk.Config) {
				// Leave out the keys: signed frames contain incarnation numbers, which differ between runs.
				c.Key, c.Keys = nil, nil
				c.ResendAfter = time.Minute
				if i == 1 {
					c.Oracle = sdk.OracleFunc(func(context.Context, []float32, int) (float64, error) { return loss, err })
				}
			})
			mustRun(t, all)
			if st := all[0].Status(); st.Refused != 0 || st.FailedQueries != 0 {
				t.Errorf("a has noticed something: %+v", st)
			}
			return frames, all[0].Model(), all[1].Status().FailedQueries
		}
		want, model, failed := seen(fallback, nil)
		if failed != 0 || len(want) != 15 { // two probes, twelve releases, one Done
			t.Fatalf("%d failed queries, frames\n%s", failed, strings.Join(want, "\n"))
		}
		for _, c := range []struct {
			loss float64
			err  error
		}{{0, errors.New("no data")}, {0.7, errors.New("no data")}, {math.NaN(), nil}, {math.Inf(-1), nil}, {1e300, nil}} {
			got, m, failed := seen(c.loss, c.err)
			if failed != asked(f) || !slices.Equal(got, want) || !slices.Equal(m, model) {
				t.Errorf("loss %v, error %v: %d failed queries, want %d; a was sent\n%s\nwant\n%s",
					c.loss, c.err, failed, asked(f), strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
		if healthy, _, _ := seen(0.7, nil); len(healthy) != len(want) {
			t.Errorf("%d frames of a node with another loss, %d of one without", len(healthy), len(want))
		}
	}
}

// asked returns the number of queries of client 1 in a run. The paper's estimator also fills its table in each round.
func asked(f *sdk.Fleet) int64 {
	round := f.Method.Tau * min(f.Method.Batch, samples[1])
	if f.Method.Estimator == zoest.Paper {
		round += samples[1]
	}
	return int64(f.Method.Rounds * round)
}
