package sdk_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/sdk/wire"
	"github.com/spade-dfl/spade-edge/tinytest"
)

// journal is a log that can be read while it is being written.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(b)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// endsAt returns a context that ends when the journal contains the text want.
func (j *journal) endsAt(t *testing.T, want string) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	go func() {
		for ; !strings.Contains(j.String(), want) && ctx.Err() == nil; time.Sleep(time.Millisecond) {
		}
		cancel()
	}()
	return ctx
}

type outcome struct {
	recovered int  // the release after which the device was replaced
	late      int  // how often a neighbor was killed shortly before or during the takeover
	back      bool // the lost device returned and was stopped
	forgotten bool // a neighbor received a release, forgot it, and received a different release of that round
}

func (w *wreck) play() (out outcome) {
	t := w.t
	for i := range w.hosts {
		w.start(i)
	}
	// Lose the device before the run, during it, or after its end.
	target := w.chance.IntN(w.last() + 1)
	for w.hosts[w.lost].node.Status().Round < target {
		time.Sleep(50 * time.Microsecond)
	}
	w.wait(3 * time.Millisecond)
	w.kill(w.lost)
	old := w.hosts[w.lost]
	w.hosts[w.lost] = &host{open: tinytest.MemStore(), incarnation: old.incarnation, spare: true}
	if old.ledger != "" {
		w.hosts[w.lost].ledger = w.newLedger("second")
	}
	neighbors := w.neighbors()
	crash := func() {
		if w.rough && w.chance.IntN(3) == 0 {
			j := neighbors[w.chance.IntN(len(neighbors))]
			w.kill(j)
			w.wait(20 * time.Millisecond)
			w.start(j)
			out.late++
		}
	}
	w.wait(40 * time.Millisecond)
	crash()
	held := w.remembered()
	w.start(w.lost)
	spare := w.hosts[w.lost]
	if w.rough && w.chance.IntN(3) == 0 { // the recovery itself is interrupted
		w.wait(10 * time.Millisecond)
		if !spare.ended() {
			w.kill(w.lost)
			w.start(w.lost)
		}
	}
	w.wait(10 * time.Millisecond)
	crash()
	recovering := func() bool {
		if spare.ended() {
			return false
		}
		return !strings.Contains(spare.log.String(), "has replaced the lost device") && spare.node.Status().Round == 0
	}
	for range 20_000 {
		if !recovering() {
			break
		}
		w.serve()
		time.Sleep(time.Millisecond)
	}
	synctest.Wait()
	if recovering() {
		for i, h := range w.hosts {
			t.Logf("%s: %+v\n%s", w.fleet.Members[i], h.node.Status(), h.log)
		}
		t.Errorf("seed %d: no takeover: %s", w.seed, spare.log)
		w.end()
		return out
	}
	out.recovered = spare.node.Status().Recovered
	if out.late+w.served == 0 && out.recovered < min(held+1, w.last()) {
		t.Errorf("seed %d: it takes over after release %d, and release %d is held", w.seed, out.recovered, held)
	}
	// A neighbor can be at most one block ahead of the lost device: a release with data and its mixing rounds.
	if block := 1 + w.fleet.Method.Mixing; out.recovered > old.node.Status().Round+block {
		t.Errorf("seed %d: it takes over after release %d, and the lost device had made %d", w.seed, out.recovered,
			old.node.Status().Round)
	}
	if !w.fleet.Privacy.NonPrivate && spare.node.Spend().Rho != w.fleet.Rho() {
		t.Errorf("seed %d: the device that took over has spent %v, want %v", w.seed, spare.node.Spend().Rho, w.fleet.Rho())
	}
	if w.chance.IntN(2) == 0 && old.node.Status().Round < w.last() && out.recovered > 0 {
		w.comeBack(old, &out)
	}
	w.end()
	for i, h := range w.hosts {
		if h.err != nil {
			t.Errorf("seed %d: %s: %v", w.seed, w.fleet.Members[i], h.err)
		}
		if st := h.node.Status(); !st.Done || st.Refused > 0 {
			t.Errorf("seed %d: %s ends with %+v\n%s", w.seed, w.fleet.Members[i], st, h.log.String())
		}
		if slices.ContainsFunc(h.node.Model(), func(x float32) bool { return !(math.Abs(float64(x)) < 100) }) {
			t.Errorf("seed %d: %s holds %v", w.seed, w.fleet.Members[i], h.node.Model())
		}
	}
	if t.Failed() {
		return out
	}
	if out.recovered < w.last() { // otherwise the edges to the lost device are not used again
		w.checkEdges()
	}
	w.checkReleases(&out)
	if spare.looked != 0 && !w.fleet.Privacy.NonPrivate {
		t.Errorf("seed %d: the device that took over looked at the data in round %d", w.seed, spare.looked)
	}
	w.checkCertificate(out)
	w.checkKeys(out)
	return out
}

// comeBack restarts the lost device from its old state while its replacement is away. The lost device must stop before
// it makes a release.
func (w *wreck) comeBack(old *host, out *outcome) {
	// The neighbors must know of the replacement device and must not have finished: a neighbor that restarts after the
	// end saves nothing, and so forgets the replacement device. A neighbor that is killed before its next release also
	// forgets the replacement device; see TestForgottenSuccessor.
	var at sdk.Status
	for range 1000 {
		if at = w.hosts[w.lost].node.Status(); at.Round > out.recovered {
			break
		}
		w.serve()
		time.Sleep(200 * time.Microsecond)
	}
	ended := slices.ContainsFunc(w.hosts, func(h *host) bool { return h.ended() })
	if at.Round <= out.recovered || at.Done || ended || !slices.ContainsFunc(w.neighbors(), w.remembers) {
		return
	}
	spare := w.hosts[w.lost]
	w.kill(w.lost)
	old.incarnation = spare.incarnation
	w.hosts[w.lost] = old
	w.start(w.lost)
	for range 1000 {
		if old.ended() {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if !old.ended() {
		w.t.Errorf("seed %d: the lost device is at work again, %+v\n%s", w.seed, old.node.Status(), old.log)
		w.kill(w.lost)
	}
	if !errors.Is(old.err, state.ErrRollback) || len(old.rounds) > 0 {
		w.t.Errorf("seed %d: the lost device came back and ended with %v, releases %v", w.seed, old.err, old.rounds)
	}
	spare.incarnation = old.incarnation
	w.hosts[w.lost] = spare
	w.start(w.lost)
	out.back = true
}

// serve restarts the members that have finished, because the lost member needs their state to recover.
func (w *wreck) serve() {
	for i, h := range w.hosts {
		if i != w.lost && h.ended() && h.err == nil {
			w.start(i)
			w.served++
		}
	}
}

func (w *wreck) end() {
	if spare := w.hosts[w.lost]; w.t.Failed() || spare.ended() && spare.err != nil {
		for _, h := range w.hosts {
			h.stop()
			<-h.over
		}
		return
	}
	done := func() bool { return !slices.ContainsFunc(w.hosts, func(h *host) bool { return !h.node.Status().Done }) }
	for range 1000 {
		if done() {
			break
		}
		w.serve()
		time.Sleep(60 * time.Millisecond)
	}
	if !done() {
		for i, h := range w.hosts {
			w.t.Errorf("seed %d: no end: %s: %+v\n%s", w.seed, w.fleet.Members[i], h.node.Status(), h.log)
			h.stop()
		}
	}
	for _, h := range w.hosts {
		<-h.over
	}
}

// checkEdges checks that both ends of every edge stored the same two vectors z with their last release, bit for bit,
// and that the method's invariant is satisfied to float32 precision.
func (w *wreck) checkEdges() {
	for _, wrong := range w.differences() {
		w.t.Errorf("seed %d: %s", w.seed, wrong)
	}
}

func (w *wreck) differences() (all []string) {
	wrong := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	kept := make([]wire.Snapshot, len(w.hosts))
	for i, h := range w.hosts {
		store, err := h.open()
		if err != nil {
			w.t.Fatal(err)
		}
		saved, err := store.Load()
		if err != nil || len(saved) == 0 {
			w.t.Fatalf("seed %d: %d states, %v", w.seed, len(saved), err)
		}
		if err := wire.DecodeSnapshot(saved[0].State, &kept[i]); err != nil {
			w.t.Fatal(err)
		}
		if kept[i].State.Round != w.last() {
			wrong("%s has kept release %d", w.fleet.Members[i], kept[i].State.Round)
		}
	}
	side := func(i int, peer string) admm.EdgeState {
		k := slices.IndexFunc(kept[i].Peers, func(p wire.Peer) bool { return p.Name == peer })
		return kept[i].State.Edges[k]
	}
	for _, e := range w.fleet.Edges {
		i, j := slices.Index(w.fleet.Members, e[0]), slices.Index(w.fleet.Members, e[1])
		a, b := side(i, e[1]), side(j, e[0])
		if !slices.Equal(a.Z, b.PeerZ) || !slices.Equal(a.PeerZ, b.Z) {
			wrong("edge %v: %v and %v, %v and %v", e, a.Z, b.PeerZ, a.PeerZ, b.Z)
		}
		if w.fleet.Method.Cooldown > 0 || len(kept[i].State.Grid) == 0 {
			continue
		}
		if !slices.Equal(b.Base, minus(kept[i].State.Grid, kept[i].State.Delta)) ||
			!slices.Equal(a.Base, minus(kept[j].State.Grid, kept[j].State.Delta)) {
			wrong("edge %v: the ends are at different places of the grid", e)
		}
	}
	return all
}

func minus(a, b []int32) []int32 {
	d := slices.Clone(a)
	for i := range d {
		d[i] -= b[i]
	}
	return d
}

// checkReleases checks that no member received two different releases of one round from the same member. There is one
// exception: a neighbor that was killed or restarted may have forgotten a release of the lost device, which the
// replacement device then makes again.
func (w *wreck) checkReleases(out *outcome) {
	for at, all := range w.seen {
		for _, g := range all[1:] {
			switch {
			case g.content == all[0].content:
			case at.member == w.lost && out.late+w.served > 0 && at.round > out.recovered:
				out.forgotten = true
			default:
				w.t.Errorf("seed %d: release %d of %s: %d in incarnation %d had %s, and %d in incarnation %d %s",
					w.seed, at.round, w.fleet.Members[at.member], all[0].by, all[0].incarnation, all[0].content, g.by, g.incarnation,
					g.content)
			}
		}
	}
}

func (w *wreck) checkCertificate(out outcome) {
	spare := w.hosts[w.lost]
	if w.fleet.Privacy.NonPrivate {
		return
	}
	l, err := state.ReadLedger(spare.ledger)
	if err != nil {
		w.t.Fatal(err)
	}
	defer l.Close()
	lifetime := l.Lifetime(1e-5)
	if got := l.Last(runID(w.fleet.Run, w.fleet.Hash(), w.fleet.Members[w.lost])); got != w.fleet.Method.Rounds ||
		spare.node.Spend().Rho != w.fleet.Rho() || lifetime.Rho != w.fleet.Rho() {
		w.t.Errorf("seed %d: the ledger ends with round %d and rho %v, the run has spent %v, want %v", w.seed, got,
			lifetime.Rho,
			spare.node.Spend().Rho, w.fleet.Rho())
	}
}

// TestRecoveries replaces a device that is lost with its disk in any round. The run must finish, no member may receive
// two different releases of one round from the same member, both ends of every edge must store the same vectors, bit
// for bit, and the lost device must stop when it returns. In a private run, the replacement device makes no release
// with data and charges the whole run.
//
// The test runs 15 seeds, or 60 with SPADE_LONG, or the number in SPADE_RECOVERIES. If SPADE_RECOVERY_SEED is set, the
// test runs only this seed or, if SPADE_RECOVERIES is also set, that number of seeds starting with this seed.
func TestRecoveries(t *testing.T) {
	t.Parallel()
	testRecoveries(t, false)
}

func recoveries(t *testing.T, usually int) (count, first int) {
	count = usually
	if !long || testing.Short() {
		count /= 4
	}
	for name, to := range map[string]*int{"SPADE_RECOVERIES": &count, "SPADE_RECOVERY_SEED": &first} {
		if s := os.Getenv(name); s != "" {
			n, err := strconv.Atoi(s)
			if err != nil {
				t.Fatal(err)
			}
			*to = n
		}
	}
	if os.Getenv("SPADE_RECOVERY_SEED") != "" && os.Getenv("SPADE_RECOVERIES") == "" {
		count = 1
	}
	return count, first
}

func testRecoveries(t *testing.T, shared bool, partners ...bool) {
	count, first := recoveries(t, 60)
	var back, forgotten, killed, finished int
	for seed := first; seed < first+count; seed++ {
		synctest.Test(t, func(t *testing.T) {
			w := newWreck(t, uint64(seed), shared, partners...)
			if shared {
				sdk.OnKey(w.shared.note)
				defer sdk.OnKey(nil)
			}
			defer func() {
				if t.Failed() {
					t.Logf("%+v\n%s", w.fleet, w.story)
				}
			}()
			out := w.play()
			killed += out.late
			if out.recovered == w.last() {
				finished++
			}
			if out.back {
				back++
			}
			if out.forgotten {
				forgotten++
			}
		})
		if t.Failed() {
			return
		}
	}
	t.Logf("%d takeovers: %d after the last release; %d neighbors killed meanwhile; the lost device came back %d times; "+
		"%d times a release of the lost device was made by its replacement as well, and somebody had had and forgotten it",
		count, finished, killed, back, forgotten)
	if count >= 60 && (finished == 0 || back == 0 || killed == 0) {
		t.Error("some of it never happened: nothing was tested")
	}
}
