package sdk_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/transport"
)

// TestLateStopSurvivesKills lets members c and d collude on the path e-a-b-c-d: d signs a late stop, and c relays it to
// b while a is computing its next round. So b ends three releases earlier than a would, and a ends when it learns that
// b has ended. Node a is killed after it reports its end, and restarts after its neighbors have exited. It must still
// end, because it stored its last release before the report.
func TestLateStopSurvivesKills(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(f *sdk.Fleet){
		"grid":   func(*sdk.Fleet) {},
		"no end": func(f *sdk.Fleet) { f.Method.Cooldown = 0 },
	} {
		for _, pause := range []time.Duration{time.Millisecond, 5 * time.Minute} {
			t.Run(fmt.Sprintf("%s, %v", name, pause), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f := stoppable(privateRing(), 1)
					f.Edges = [][2]string{{"e", "a"}, {"a", "b"}, {"b", "c"}, {"c", "d"}}
					f.Method.Mixing = 2
					change(f)
					all := playLateStop(t, f, pause)
					if st := all[0].Status(); st.End != 5 || st.Round == f.Method.EndedAt(5).Last() || all[1].Status().End != 4 {
						t.Errorf("nobody has ended early, and nothing was tested: %+v, %+v", st, all[1].Status())
					}
					mustEndNearby(t, f, all)
				})
			})
		}
	}
}

// playLateStop runs a fleet in which c relays d's late stop with the last release of the fourth round, while b waits
// for that release and a is computing the fifth round. Node a is killed when it sends Done, and restarts after the
// given pause.
func playLateStop(t *testing.T, f *sdk.Fleet, pause time.Duration) []*sdk.Node {
	dir, late := t.TempDir(), wish(f, 3, 1, "d")
	const told = 12
	var slow atomic.Bool
	trs := inMemory(t, f)
	trs[2] = newMail(t, f, lazy{trs[2], &slow}, func(_ string, m *admm.Message) bool {
		if m.Kind == admm.Release && m.Round >= told && len(m.Signed.Stops) == 0 {
			m.Signed.Stops = late
			slow.Store(true)
		}
		return true
	})
	all := make([]*sdk.Node, len(f.Members))
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	life := func(i int, tr transport.Transport) error {
		store, err := state.Open(filepath.Join(dir, f.Members[i]))
		if err != nil {
			return err
		}
		defer store.Close()
		cfg := sdk.Config{Fleet: f, Name: f.Members[i], Samples: samples[i], Transport: tr, Store: store,
			Oracle: sdk.OracleFunc(func(ctx context.Context, x []float32, sample int) (float64, error) {
				if i == 0 && all[0].Status().Round == told {
					time.Sleep(time.Second)
				}
				return oracle(i)(ctx, x, sample)
			})}
		sign(&cfg)
		if all[i], err = sdk.New(cfg); err != nil {
			return err
		}
		run, die := context.WithCancel(ctx)
		defer die()
		if l, ok := tr.(*lastWord); ok {
			l.die = die
		}
		return all[i].Run(run)
	}
	var wg sync.WaitGroup
	for i := range f.Members {
		wg.Go(func() {
			tr := trs[i]
			if i == 0 {
				tr = &lastWord{Transport: tr, inner: newMail(t, f, tr, nil)}
			}
			err := life(i, tr)
			if i == 0 && errors.Is(err, context.Canceled) {
				away, back := context.WithTimeout(ctx, pause)
				for away.Err() == nil { // drop the frames that arrive while a is away
					_, _, _ = trs[i].Recv(away)
				}
				back()
				err = life(i, trs[i])
			}
			if err != nil {
				t.Errorf("node %d: %v, %+v", i, err, all[i].Status())
			}
		})
	}
	wg.Wait()
	return all
}

type lazy struct {
	transport.Transport
	slow *atomic.Bool
}

func (l lazy) Send(ctx context.Context, to string, frame []byte) error {
	if l.slow.Load() {
		time.Sleep(time.Second)
	}
	return l.Transport.Send(ctx, to, frame)
}

// lastWord kills its node when the node first sends Done.
type lastWord struct {
	transport.Transport
	inner *mail
	die   func()
}

func (l *lastWord) Send(ctx context.Context, to string, frame []byte) error {
	var m admm.Message
	if err := errors.Join(l.inner.codec.Decode(frame, &m), l.Transport.Send(ctx, to, frame)); err != nil {
		return err
	}
	if m.Kind == admm.Done {
		l.die()
	}
	return nil
}
