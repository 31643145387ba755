//go:build unix

package program

import (
	"io"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// dyingNoise, set in the environment of the test binary to a round, ends a private node when it draws the noise of
// that release: the ledger then has the release's line, but there is no state of it.
const dyingNoise = "SPADE_EDGE_TEST_DYING_NOISE"

// readOnlyMark, if also set, makes the ledger's high-water mark read-only at that moment, instead of ending the node.
const readOnlyMark = "SPADE_EDGE_TEST_READ_ONLY_MARK"

// loseMark makes the mark read-only; nil on systems where that is impossible.
var loseMark func() error

func init() {
	round, err := strconv.Atoi(os.Getenv(dyingNoise))
	if err != nil {
		return
	}
	Websockets.Noise = func(_ int, made func() int) io.Reader { return &lastDraw{made, round} }
}

type lastDraw struct {
	made  func() int
	round int
}

func (n *lastDraw) Read(b []byte) (int, error) {
	if n.made()+1 == n.round {
		if os.Getenv(readOnlyMark) == "" {
			os.Exit(99)
		}
		if err := loseMark(); err != nil {
			return 0, err
		}
	}
	s := rng.New(3, rng.Address{Purpose: rng.Noise, Round: uint32(n.made())})
	return s.Read(b)
}

// newOneRound is a private trial of two members with one release each.
func newOneRound(t *testing.T) *trial {
	t.Helper()
	tr := newLonger(t, "ab", 1)
	tr.edit(t, "fleet.json", `"cooldown": 2`, `"cooldown": 0`)
	return tr
}

// newLonger is a private trial with rounds rounds with data and two without.
func newLonger(t *testing.T, edges string, rounds int, more ...func(f *sdk.Fleet)) *trial {
	t.Helper()
	tr := newAttacked(t, edges, func(f *sdk.Fleet) {
		f.Method.Rounds, f.Method.Cooldown, f.Method.Eta = rounds, 2, []float64{1}
		for _, change := range more {
			change(f)
		}
	})
	if tr.file.Fleet.Task != nil {
		tr.givenTask(t)
	}
	return tr
}

// Two members make their only release. The test deletes everything that they remember of it and starts them again: 2
// times, or SPADE_LOOKS times.
func TestAttackSecondLook(t *testing.T) {
	t.Parallel()
	tr := newOneRound(t)
	tr.both(t)
	one := tr.spends(t, "a")
	for range times(t, "SPADE_LOOKS", 2) {
		tr.remove(t, "a.state", "b.state")
		a, b := start(t, "run", tr.path("a.json"), "-json"), start(t, "run", tr.path("b.json"), "-json")
		for _, p := range []*process{a, b} {
			p.refused(t, cli.ExitMismatch, "the ledger has release 1 of this run, and the stored state ends with 0: the state was set back")
		}
		for i, m := range tr.file.Members {
			if n, all := tr.spent(t, m.Name), tr.released(t, i); n != 1 || len(all) != 0 || len(tr.spends(t, m.Name)) != len(one) {
				t.Fatalf("%s: %d releases in the ledger, want 1, and %d in the log, want 0", m.Name, n, len(all))
			}
		}
	}

	// The ledger's line alone, without its high-water mark.
	tr.remove(t, "b.state", "b.ledger.mark")
	start(t, "run", tr.path("b.json"), "-json").refused(t, cli.ExitFailed, "b.ledger.mark is missing", "only the mark shows whether the ledger is the newest copy")
	// As a replacement device, while no neighbor knows anything either.
	tr.remove(t, "a.state")
	a := start(t, "run", tr.path("a.json"), "-recover", "-json")
	a.log.await(t, "taking over: waiting for", `"b" (not connected`)
	a.kill()
	if tr.spent(t, "a") != 1 || len(tr.released(t, 0)) != 0 {
		t.Error("a release without an answer of the neighbor")
	}
}

// One of two members loses its state; the other has everything it knows.
func TestAttackOneState(t *testing.T) {
	t.Parallel()
	tr := newOneRound(t)
	tr.both(t)
	a := start(t, "run", tr.path("a.json"), "-json")
	for range times(t, "SPADE_LOOKS", 2) {
		tr.remove(t, "b.state")
		start(t, "run", tr.path("b.json"), "-json").refused(t, cli.ExitMismatch, "the ledger has release 1 of this run")
	}
	if tr.spent(t, "b") != 1 || len(tr.released(t, 0)) != 1 {
		t.Error("a second release")
	}
	a.kill()
}

// The state folder is reset to the previous round, first with the current ledger and mark, then with an old mark too.
// The ledger detects the first, the neighbor the second.
func TestAttackSlotsPutBack(t *testing.T) {
	t.Parallel()
	tr := newLonger(t, "ab", 30)
	in := tr.newInsider(t, "b", true, nil)
	a := start(t, "run", tr.path("a.json"), "-json")
	in.await(t, "a", 2)
	a.kill()
	takeOver(t, tr.dir, tr.path("then"), keeps("a")...)
	then, err := state.ReadSnapshot(tr.path("a.state"))
	if err != nil {
		t.Fatal(err)
	}
	a = start(t, "run", tr.path("a.json"), "-json")
	in.await(t, "a", then.Round+1)
	a.kill()
	if then.Round >= 30 {
		t.Fatal("the rounds that cost something were over before the kill")
	}
	takeOver(t, tr.dir, tr.path("now"), keeps("a")...)
	spent := tr.spent(t, "a")

	takeOver(t, tr.path("then"), tr.dir, "a.state")
	start(t, "run", tr.path("a.json"), "-json").refused(t, cli.ExitMismatch, "the ledger has release", "the state was set back")
	takeOver(t, tr.path("then"), tr.dir, "a.ledger.mark")
	start(t, "run", tr.path("a.json"), "-json").refused(t, cli.ExitMismatch, "the state was set back")
	if got := tr.spent(t, "a"); got != spent {
		t.Errorf("%d releases in the ledger, want %d", got, spent)
	}
	takeOver(t, tr.path("now"), tr.dir, keeps("a")...)
	start(t, "run", tr.path("a.json"), "-json").outcome(t)
	if last := in.sawOnce(t, "a"); last != 32 {
		t.Errorf("the last release that was seen is %d", last)
	}
}

// A node is killed at random moments before and after its first release, and its state deleted each time. The neighbor
// sees one release, the ledger has one line, and a seen release is not made again.
func TestAttackKillAndForget(t *testing.T) {
	t.Parallel()
	chance := rng.New(4, rng.Address{Purpose: rng.Fault})
	var before, between, refused int
	for n := range times(t, "SPADE_FORGETS", 4) {
		tr := newOneRound(t)
		in := tr.newInsider(t, "b", false, nil)
		p := start(t, "run", tr.path("a.json"), "-json")
		p.log.await(t, `node "a" of run`)
		for empty := size(t, tr.path("a.ledger")); n > 0 && !p.ended() && size(t, tr.path("a.ledger")) == empty; {
			time.Sleep(100 * time.Microsecond)
		}
		time.Sleep(time.Duration(chance.Float64() * float64(4*time.Millisecond))) // uniform over the release
		p.kill()
		tr.remove(t, "a.state")
		lines, seen := tr.spent(t, "a"), in.sawOnce(t, "a")
		p = start(t, "run", tr.path("a.json"), "-json")
		for !p.ended() && len(tr.released(t, 0)) == 0 {
			time.Sleep(time.Millisecond)
		}
		again := len(tr.released(t, 0)) == 1
		switch {
		case !again:
			refused++
			p.refused(t, cli.ExitMismatch, "the ledger has release 1 of this run")
		case lines == 0:
			before++
		default:
			between++
		}
		if seen == 1 && again {
			t.Error("a release that was seen is made again")
		}
		if again {
			in.await(t, "a", 1)
		}
		p.kill()
		tr.remove(t, "a.state")
		start(t, "run", tr.path("a.json"), "-json").refused(t, cli.ExitMismatch, "the ledger has release 1 of this run")
		if in.sawOnce(t, "a"); tr.spent(t, "a") != 1 {
			t.Errorf("%d releases in the ledger", tr.spent(t, "a"))
		}
		in.end()
	}
	t.Logf("killed before the line: %d times, between line and mark: %d, after the mark: %d", before, between, refused)
}

// A replacement device loses its state too. It is refused like the first device, then recovers, and is refused after
// the run. None of the three devices showed two releases of a round.
func TestAttackRecoveredState(t *testing.T) {
	t.Parallel()
	tr := newLonger(t, "ab bc ca", 12)
	in := tr.newInsider(t, "a", true, nil)
	c := start(t, "run", tr.path("c.json"), "-json")
	b := start(t, "run", tr.path("b.json"), "-json")
	for _, round := range []int{2, 7} {
		in.await(t, "b", round)
		b.kill()
		tr.remove(t, "b.state")
		start(t, "run", tr.path("b.json"), "-json").refused(t, cli.ExitMismatch, "the ledger has release", "let this device replace a lost one")
		b = start(t, "run", tr.path("b.json"), "-json", "-recover")
		b.log.await(t, "this device takes the place of the lost one")
	}
	if r := b.outcome(t); !r.Done || r.Recovered < 6 {
		t.Errorf("outcome %+v", r)
	}
	c.outcome(t)
	tr.remove(t, "b.state")
	start(t, "run", tr.path("b.json"), "-json").refused(t, cli.ExitMismatch, "the ledger has release 12 of this run")
	in.mu.Lock()
	defer in.mu.Unlock()
	for round, shown := range in.seen["b"] {
		devices := map[byte]bool{}
		for digest := range shown {
			if devices[digest[0]] {
				t.Errorf("device %c has made two releases of round %d", digest[0], round)
			}
			devices[digest[0]] = true
		}
	}
	if n := tr.spent(t, "b"); n != 12 || in.last["b"].Epoch != 2 {
		t.Errorf("%d releases in the ledger, and device %d at the end", n, in.last["b"].Epoch)
	}
}

func size(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}
