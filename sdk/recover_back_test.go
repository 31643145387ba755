package sdk_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/tinytest"
)

// The lost device comes back while its successor is away, and no neighbor remembers that one: all were killed between
// its first word and their next release. The lost device goes on then. The run comes to its end with one of the two: the
// other ends, and says that it has to recover anew, or both ends of every edge have the same bits, for it stands where
// the neighbors do. Played like TestRecoveries.
func TestForgottenSuccessor(t *testing.T) {
	count, first := recoveries(t, 20)
	anew, fits := 0, 0
	for seed := first; seed < first+count && !t.Failed(); seed++ {
		synctest.Test(t, func(t *testing.T) {
			w := newWreck(t, uint64(seed), seed%3 == 0)
			defer func() {
				for _, h := range w.hosts {
					h.stop()
					<-h.over
				}
				if t.Failed() {
					t.Logf("%+v\n%s", w.fleet, strings.Join(w.story, "\n"))
				}
			}()
			old, spare := w.forgotten()
			if spare == nil {
				return
			}
			w.hosts[w.lost] = old
			old.incarnation = spare.incarnation
			for i := range w.hosts {
				w.start(i)
			}
			w.wait(time.Duration(30+1000*w.chance.IntN(2)) * time.Millisecond)
			w.kill(w.lost)
			spare.incarnation = old.incarnation
			w.hosts[w.lost] = spare
			if w.chance.IntN(2) == 0 {
				j := w.neighbors()[0]
				w.kill(j)
				w.start(j)
			}
			w.start(w.lost)
			going := func(h *host) bool { return !h.node.Status().Done }
			for range 10_000 {
				if spare.ended() && spare.err != nil || !slices.ContainsFunc(w.hosts, going) {
					break
				}
				w.serve()
				time.Sleep(time.Millisecond)
			}
			switch {
			case !spare.ended() && slices.ContainsFunc(w.hosts, going):
				t.Errorf("seed %d: no end: %+v\n%s", seed, spare.node.Status(), spare.log)
			case !spare.ended() || spare.err == nil:
				fits++
				w.checkEdges()
			case !errors.Is(spare.err, sdk.ErrRecoverAnew):
				t.Errorf("seed %d: the successor ends with %v", seed, spare.err)
			default:
				anew++
			}
		})
	}
	t.Logf("%d times the successor has to recover anew, %d times it fits", anew, fits)
	if count >= 20 && (anew == 0 || fits == 0) {
		t.Error("some of it never happened: nothing was tested")
	}
}

// forgotten plays until the successor of the lost device has made a release that no neighbor remembers, and kills all.
// It returns nil for the successor if it does not come to that.
func (w *wreck) forgotten() (old, spare *host) {
	for i := range w.hosts {
		w.start(i)
	}
	for target := 1 + w.chance.IntN(w.last()-1); w.hosts[w.lost].node.Status().Round < target; {
		time.Sleep(50 * time.Microsecond)
	}
	w.kill(w.lost)
	old = w.hosts[w.lost]
	spare = &host{open: tinytest.MemStore(), incarnation: old.incarnation, spare: true}
	if old.ledger != "" {
		spare.ledger = w.newLedger("second")
	}
	w.hosts[w.lost] = spare
	w.start(w.lost)
	for range 100_000 {
		if at := spare.node.Status(); spare.ended() || at.Recovered > 0 && at.Round > at.Recovered {
			break
		}
		time.Sleep(20 * time.Microsecond)
	}
	for i := range w.hosts {
		if !w.hosts[i].ended() {
			w.kill(i)
		}
	}
	// With two releases a successor cannot be told from one that began one release later.
	if at := spare.node.Status(); at.Recovered == 0 || at.Round != at.Recovered+1 || at.Done {
		return old, nil
	}
	for _, j := range w.neighbors() {
		store, err := w.hosts[j].open()
		if err != nil {
			w.t.Fatal(err)
		}
		if w.stored(store) {
			return old, nil
		}
	}
	return old, spare
}
