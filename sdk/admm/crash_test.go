package admm

import (
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"
)

// play simulates count worlds on all processors and returns them. Their seeds are consecutive and begin at from.
func play(t *testing.T, from uint64, count int, p plant) []*world {
	t.Helper()
	worlds := make([]*world, count)
	next := make(chan int)
	var wait sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wait.Add(1)
		go func() {
			defer wait.Done()
			for i := range next {
				w := newWorld(from+uint64(i), p)
				w.run()
				w.nodes, w.air = nil, nil
				worlds[i] = w
			}
		}()
	}
	for i := range worlds {
		next <- i
	}
	close(next)
	wait.Wait()
	return worlds
}

// TestCrashes lets nodes crash at every point, tears writes, and loses, repeats, delays and reorders messages. No
// release may be made twice, no node may wait indefinitely or send without end, and the final models must equal those
// of the run without faults, bit for bit. No node may mistake a crash for a loss of its state, its ledger or its
// high-water mark. The worlds have each estimator, with and without momentum and mixing rounds, releases with and without
// a grid, and protect each client or each record. The test simulates 500,000 crashes with SPADE_LONG, 20,000 with -short,
// and 50,000 otherwise, about 500 in each world. The variable SPADE_CRASHES sets a different number of crashes:
//
//	SPADE_CRASHES=10000000 go test -run 'TestCrashes|TestOneFileLost|WorldsOfOne' -v -timeout 1h ./sdk/admm
//
// With SPADE_CRASH_SEED the test simulates the world of one seed, such as the seed of a failure, and logs all events:
//
//	SPADE_CRASH_SEED=42 go test -run TestCrashes -v ./sdk/admm
func TestCrashes(t *testing.T) {
	sum := crash(t, sound, 1, 500_000)
	if sum.torn*1000 < sum.crashes || min(sum.lost, sum.duplicated, sum.reordered, sum.stale) < sum.crashes/10 {
		t.Error("next to nothing was torn, lost, duplicated or late: nothing was tested")
	}
}

// TestOneFileLost lets a node's disk lose confirmed writes of one file (the ledger, the high-water mark or a slot of
// the state), while the node's neighbors die and forget releases. No node may ever use a round's data twice. A node
// whose files disagree must stop, or continue with the same bits. If only ledger entries and high-water marks are lost
// and no node stops, the models must be those of the run without faults.
func TestOneFileLost(t *testing.T) {
	sum := crash(t, losing, 0.5, 500_000)
	t.Logf("%d files were set back, %d nodes found it out at their start, %d from a neighbor", sum.setBack, sum.stopped,
		sum.rollbacks)
	if min(sum.setBack, sum.stopped) < max(1, sum.crashes/5000) {
		t.Error("next to nothing was lost: nothing was tested")
	}
}

// TestWorldsOfOneMember checks that an adversary that controls everything around a node cannot make it use the data of a
// round twice, or charge a release that it does not make, while writes fail, processes die, edges are dropped and states
// are lost; nothing leaves it before it is stored, charged and marked. See [world.besiege].
func TestWorldsOfOneMember(t *testing.T) {
	sum := crash(t, besieged, 0.5, 100_000)
	t.Logf("%d edges dropped, %d runs finished, %d states deleted, %d starts refused, %d claims believed", sum.dropped,
		sum.finished, sum.setBack, sum.stopped, sum.rollbacks)
	if min(sum.dropped, sum.finished, sum.setBack, sum.stopped, sum.rollbacks, sum.torn, sum.releases) < sum.crashes/1000 {
		t.Error("some of it never happened: nothing was tested")
	}
}

// crash simulates worlds until the total number of crashes is large enough: the usual number with SPADE_LONG,
// 20,000*share with -short, and otherwise a tenth of the usual number. The variable SPADE_CRASHES replaces these
// numbers with its value times share.
func crash(t *testing.T, p plant, share float64, usual int64) (sum tally) {
	if s := os.Getenv("SPADE_CRASH_SEED"); s != "" {
		seed, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		w := newWorld(seed, p)
		w.trace = t
		w.run()
		if t.Log(w.tally); len(w.ends) > 0 {
			t.Error(w.ends)
		}
		t.SkipNow()
	}
	want := usual
	if os.Getenv("SPADE_LONG") == "" {
		want /= 10
	}
	if testing.Short() {
		want = int64(2e4 * share)
	}
	if s := os.Getenv("SPADE_CRASHES"); s != "" {
		all, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		want = int64(float64(all) * share)
	}
	defer debug.SetGCPercent(debug.SetGCPercent(1000)) // each crash makes a new machine, so garbage is frequent and live memory is small
	start, failures := time.Now(), 0
	var seeds uint64
	for sum.crashes < want && failures < 10 {
		for _, w := range play(t, seeds, 32, p) {
			sum.add(w.tally)
			for e, what := range w.ends {
				failures++
				t.Errorf("seed %d: %s: %s", w.seed, e, what)
			}
		}
		seeds += 32
	}
	t.Logf("%d worlds in %.1f s: %v", seeds, time.Since(start).Seconds(), sum)
	if failures > 0 {
		t.FailNow()
	}
	return sum
}

// TestCalmWorld checks that a world without faults computes the same models as the synchronous network of the other
// tests.
func TestCalmWorld(t *testing.T) {
	for seed := range uint64(20) {
		w := newWorld(seed, sound)
		w.calmDown()
		if len(w.ends) > 0 {
			t.Fatalf("seed %d: %v", seed, w.ends)
		}
		other := newWorld(seed, sound)
		net := &network{loss: lossFunc, finished: make([]bool, len(other.nodes))}
		for i := range other.nodes {
			net.machines = append(net.machines, other.nodes[i].m)
		}
		if err := net.run(); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for i, x := range net.models() {
			if !slices.Equal(x, w.nodes[i].final) {
				t.Errorf("seed %d: node %d ends with %v, want %v", seed, i, w.nodes[i].final, x)
			}
		}
	}
}

// TestPlantedFaults checks that each mutation is detected within a few seeds, and causes every kind of failure that it
// is meant to cause.
func TestPlantedFaults(t *testing.T) {
	if os.Getenv("SPADE_LONG") == "" {
		t.Skip("about the tests, not the machine: SPADE_LONG=1 runs it")
	}
	for _, c := range []struct {
		name  string
		plant plant
		want  []ending
	}{
		{"checkpoint after send", sendBeforeKeep, []ending{doubleRelease, rollback}},
		{"depth one", depthOne, []ending{deadlock}},
		{"no fsync", noSync, []ending{doubleRelease, rollback}},
		{"no length check", noCheck, []ending{otherModel}},
		{"noise drawn again on resend", freshNoise, []ending{doubleRelease, refused}},
		{"skew of two accepted", skewOfTwo, []ending{skew, otherModel}},
		{"an answer to an answer", answerAnswers, []ending{storm}},
		{"leaving before the last message is held", leaveEarly, []ending{deadlock}},
		{"no reservation", noReserve, []ending{unreserved}},
		{"answers to an earlier incarnation taken for answers to this one", nameless, []ending{doubleRelease}},
		{"a mark with the reservation, and a round of grace", markFirst, []ending{doubleRelease}},
		{"a mark after the sending", markLate, []ending{doubleRelease}},
		{"a besieged node that starts anew after a lost state", anew, []ending{doubleRelease}},
		{"a besieged node that marks nothing", unmarked, []ending{early}},
		{"a besieged node that charges too early", eager, []ending{overcharged}},
	} {
		t.Run(c.name, func(t *testing.T) {
			left := slices.Clone(c.want)
			for from := uint64(0); len(left) > 0; from += 4 {
				if from >= 200 {
					t.Fatalf("%d worlds without %v", from, left)
				}
				for _, w := range play(t, from, 4, c.plant) {
					for e, what := range w.ends {
						if i := slices.Index(left, e); i >= 0 {
							left = slices.Delete(left, i, i+1)
							t.Logf("seed %d: %s: %.200s", w.seed, e, what)
						}
					}
				}
			}
		})
	}
}

// TestLyingDisk lets a disk lose confirmed writes. If a neighbor holds a release that the disk lost, the node must stop
// with an error and never make that release again. If no neighbor holds a lost release, nobody can detect the
// loss. The result must be the same whether messages in flight die with the node or reach its next incarnation.
func TestLyingDisk(t *testing.T) {
	for _, p := range []plant{lyingDisk, lyingDiskQueues} {
		lie(t, p)
	}
}

func lie(t *testing.T, p plant) {
	var sum tally
	count := 200
	switch {
	case testing.Short():
		count = 40
	case os.Getenv("SPADE_LONG") == "":
		count = 80
	}
	for _, w := range play(t, 0, count, p) {
		sum.add(w.tally)
		for e, what := range w.ends {
			t.Errorf("seed %d: %s: %s", w.seed, e, what)
		}
	}
	t.Logf("%d rollbacks noticed, %d messages of releases made again that nobody had held", sum.rollbacks, sum.unseen)
	if sum.rollbacks < int64(count/5) || sum.unseen == 0 && !testing.Short() {
		t.Errorf("%d rollbacks noticed, %d messages of releases made again that nobody had held: nothing was tested",
			sum.rollbacks, sum.unseen)
	}
}
