package admm

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/dpmech"
)

// siege pits one honest member of a private run against an adversary that controls all its neighbors and every broker
// between them. The adversary reads the member's memory, records every frame that left it, delivers anything in any
// order. It decides when a process of the member dies, at which duty, and what an unconfirmed
// write leaves on the disk. It also deletes the member's state, but not the ledger.
//
// The member has no keys, so it believes every claim about its own releases. With keys an adversary can claim less.
//
// These properties must hold in every world:
//
//   - a release has one content, in all frames of the member, with or without data;
//   - no part of a release leaves the member before the release is stored and, if it has data, charged and marked;
//   - the ledger has one entry per release with data that was made, and at most one more entry, for a release that was
//     reserved when the process died;
//   - a disk that keeps what it confirms is never mistaken for one that was rolled back.
type siege struct {
	seed   uint64
	chance *rand.Rand
	fault  string // the driver's mutation
	cfg    Config
	device *device
	budget int // releases with data that may be charged
	risk   int // a process dies at one in this many duties; 0: never

	sent []Message           // the messages that left the member, or a sample if there are many
	data [siegeReleases]bool // which releases with data have left
	ends map[string]int      // event counts
	fail string              // description of the first failure
}

const siegeReleases = 16 // more releases than any run has

// place identifies the part of a release that a frame shows: the payload for all neighbors, or for one neighbor.
type place struct{ release, to int }

const toAll = -1

// content has the numbers of a payload of up to two coordinates.
type content struct {
	grid   bool
	number [2]uint32
}

func (w *siege) breaks(format string, args ...any) {
	if w.fail == "" {
		w.fail = fmt.Sprintf("seed %d: ", w.seed) + fmt.Sprintf(format, args...)
	}
}

// siegeShared is pairwise noise between neighbors.
var siegeShared = dpmech.Gaussian{Clip: 0.3, Sigma: 0.2, Shared: dpmech.Shared{Sigma: 0.8, Effective: 0.5, Colluders: 1}}

func newSiege(seed uint64, fault string) *siege {
	w := &siege{seed: seed, chance: rand.New(rand.NewPCG(seed, 11)), fault: fault, ends: map[string]int{}}
	n := w.chance.IntN
	rounds, more := 1+n(4), n(2)
	w.cfg = configs(2+more, [][2]int{{0, 1}, {1, 2}}[:1+more], func(_ int, c *Config) {
		c.Estimator.Dim, c.Estimator.Samples, c.Estimator.Batch = 1+n(2), 1, 1
		c.Tau, c.Rounds, c.Mixing, c.Cooldown = 1, rounds, n(2), n(3)
		c.NonPrivate, c.Privacy, c.Noise = false, dpmech.Gaussian{Clip: 0.3, Sigma: 0.2}, w
		c.Probe = true
		c.Members = 3 * n(2)
		if n(2) == 0 {
			c.GridStep = 0.2 / 16
		}
		if n(2) == 0 {
			c.Mixing = n(4)
		}
		if n(4) == 0 {
			c.Privacy, c.PairKey = siegeShared, w.pairKey
		}
	})[1]
	w.budget, w.risk = rounds, n(3)*(4+n(30))
	if n(4) == 0 {
		w.budget = n(rounds + 1)
	}
	w.device = &device{w: w, ledger: &lines{}}
	return w
}

// Read returns the noise of a release, which never repeats.
func (w *siege) Read(p []byte) (int, error) {
	for i := range p {
		if i%8 == 0 {
			for at, word := i, w.chance.Uint64(); at < min(len(p), i+8); at++ {
				p[at] = byte(word)
				word >>= 8
			}
		}
	}
	return len(p), nil
}

// pairKey returns a key that only the two ends of an edge have.
func (w *siege) pairKey(peer, release int) [32]byte { return [32]byte{byte(peer), byte(release)} }

func (w *siege) run() {
	d := w.device
	for range 40 + w.chance.IntN(160) {
		if d.finished && w.chance.IntN(8) > 0 {
			continue
		}
		w.play(d)
		w.audit()
		if w.fail != "" {
			return
		}
	}
}

// audit compares the ledger with the releases that were made.
func (w *siege) audit() {
	left := 0 // distinct releases with data
	for _, data := range w.data {
		if data {
			left++
		}
	}
	if left == w.cfg.Rounds {
		w.ends["all releases with data"]++
	}
	l := w.device.ledger
	if l.reserved > l.made+1 || l.reserved > l.made && !l.lost {
		w.breaks("the member is charged for %d releases and has made %d", l.reserved, l.made)
	}
	if l.reserved < left {
		w.breaks("%d releases with data have left, and %d are charged", left, l.reserved)
	}
}

// siegeFaults are the driver's mutations. Each is detected within a few thousand worlds.
var siegeFaults = []string{"send before store", "send before mark", "nothing is reserved", "reserve too early",
	"start anew after a damaged state", "start anew after a lost state", "charge what is claimed"}

// TestWorldsOfOneMember checks that the adversary cannot make a member use the data of a round twice, or charge a
// release that it does not make, while writes fail, processes die, edges are dropped and states are lost. The test
// simulates 4,000 worlds, or the number in SPADE_WORLDS, starting with seed SPADE_WORLD_SEED. The long run:
//
//	SPADE_WORLDS=1000000 go test -run TestWorldsOfOneMember -v -timeout 30m ./sdk/admm
func TestWorldsOfOneMember(t *testing.T) {
	count, first := 4000, 0
	for name, to := range map[string]*int{"SPADE_WORLDS": &count, "SPADE_WORLD_SEED": &first} {
		if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
			*to = n
		}
	}
	defer debug.SetGCPercent(debug.SetGCPercent(1000)) // finished worlds leave nothing in memory
	start := time.Now()
	sum, failures := besiege(first, count, "")
	for _, f := range failures {
		t.Error(f)
	}
	t.Logf("%d worlds in %.1f s: %v", count, time.Since(start).Seconds(), sum)
	for _, what := range []string{"release with data", "release without data", "crash", "torn", "edge dropped", "finished",
		"rolled back", "draw again", "lost state"} {
		if count >= 4000 && sum[what] < count/100 {
			t.Errorf("%s: %d times in %d worlds: nothing was tested", what, sum[what], count)
		}
	}
}

func TestWorldsFindFaults(t *testing.T) {
	for _, fault := range siegeFaults {
		t.Run(fault, func(t *testing.T) {
			for from := 0; from < 4000; from += 200 {
				if _, failures := besiege(from, 200, fault); len(failures) > 0 {
					t.Log(failures[0])
					return
				}
			}
			t.Error("not found")
		})
	}
}

// besiege simulates worlds on all processors. It returns event counts, and at most ten failures.
func besiege(from, count int, fault string) (sum map[string]int, failures []string) {
	sum = map[string]int{}
	var mu sync.Mutex
	var wait sync.WaitGroup
	const workers = 2
	for k := range workers {
		wait.Go(func() {
			own := map[string]int{}
			var failed []string
			for seed := from + k; seed < from+count && len(failed) < 5; seed += workers {
				w := newSiege(uint64(seed), fault)
				w.run()
				if w.fail != "" {
					failed = append(failed, w.fail)
				}
				for what, n := range w.ends {
					own[what] += n
				}
			}
			mu.Lock()
			defer mu.Unlock()
			failures = append(failures, failed...)
			for what, n := range own {
				sum[what] += n
			}
		})
	}
	wait.Wait()
	return sum, failures
}
