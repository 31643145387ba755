package brokertest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/tinytest"
	"github.com/spade-dfl/spade-edge/zoest"
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// Broker is a broker that a test can stop and start.
type Broker interface {
	End(s Setup) (End, error) // an Opener
	Stop()
	Start()
	HangUp() // closes all connections abruptly, if the broker supports that
}

// fate controls the faults of one member: it can cut the member's network or kill its process.
type fate struct {
	Way
	mu   sync.Mutex
	kill context.CancelCauseFunc
}

// errKilled is the cancellation cause that simulates a power failure.
var errKilled = errors.New("killed")

// live runs a member until the run is over. After each kill it starts a new process, with a new transport and a new
// node.
func (f *fate) live(ctx context.Context, b Broker, n *Network, i int, store tinytest.OpenStore) ([]float32, error) {
	for {
		process, kill := context.WithCancelCause(ctx)
		f.mu.Lock()
		f.kill = kill
		f.mu.Unlock()
		model, err := f.once(process, b, n, i, store)
		kill(nil)
		if !errors.Is(err, errKilled) {
			return model, err
		}
	}
}

func (f *fate) once(ctx context.Context, b Broker, n *Network, i int, store tinytest.OpenStore) (_ []float32, err error) {
	setup := n.Setup(n.Fleet.Members[i])
	way := &Way{Base: f.DialContext} // one per process, so that a killed process can send nothing
	setup.Way = way
	tr, err := b.End(setup)
	if err != nil {
		return nil, err
	}
	defer tr.Close()
	s, err := store()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	node, err := n.Node(i, sdk.Config{Oracle: pausing{n.Oracles[i]}, Transport: tr, Store: s, Linger: 2 * time.Minute,
		Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	defer context.AfterFunc(ctx, func() { way.Set(true) })()
	if err := node.Run(ctx); err != nil {
		return nil, err
	}
	return node.Model(), nil
}

// pausing is an oracle that sleeps before each answer, so that faults can occur during a round.
type pausing struct{ zoest.Oracle }

func (p pausing) Loss(ctx context.Context, x []float32, sample int) (float64, error) {
	time.Sleep(200 * time.Microsecond)
	return p.Oracle.Loss(ctx, x, sample)
}

// faultRun is a run over a broker in which a test cuts off and kills members.
type faultRun struct {
	fates  []fate
	models [][]float32
	errs   []error
	work   sync.WaitGroup
	ended  atomic.Int32 // number of members whose run has ended
}

func (n *Network) start(ctx context.Context, fail func(), b Broker) *faultRun {
	members := len(n.Fleet.Members)
	l := &faultRun{fates: make([]fate, members), models: make([][]float32, members), errs: make([]error, members)}
	for i := range members {
		l.work.Go(func() {
			if l.models[i], l.errs[i] = l.fates[i].live(ctx, b, n, i, tinytest.MemStore()); l.errs[i] != nil {
				fail()
			}
			l.ended.Add(1)
		})
	}
	return l
}

// end waits until all members have ended and checks that their models equal those of a fault-free run.
func (l *faultRun) end(t *testing.T, want [][]float32) {
	t.Helper()
	l.work.Wait()
	if err := errors.Join(l.errs...); err != nil {
		t.Fatal(err)
	}
	for i := range want {
		if !slices.Equal(l.models[i], want[i]) {
			t.Errorf("the model of member %d differs from its model in a run without faults", i)
		}
	}
}

// Faults performs one run after another over a broker. At random moments it restarts the broker, cuts networks and
// kills nodes, until the number of restarts and kills has reached want. It checks that the models equal those of a
// fault-free run bit for bit.
func Faults(t *testing.T, want int, network func(run string) *Network, open func(t *testing.T) Broker) {
	t.Helper()
	chance := rng.New(1, rng.Address{Purpose: rng.Fault})
	var kills, cuts, restarts int
	for run := 0; kills+restarts < want; run++ {
		n := network(fmt.Sprint("run ", run))
		_, models := n.Quiet(t)
		b := open(t)
		ctx, cancel := context.WithTimeoutCause(context.Background(), 5*time.Minute, errors.New("the run does not end"))
		l := n.start(ctx, cancel, b)
		for k := 0; k < 50 && kills+restarts < want && int(l.ended.Load()) < len(models); k++ {
			time.Sleep(time.Duration(1+chance.IntN(100)) * time.Millisecond)
			f := &l.fates[chance.IntN(len(l.fates))]
			switch chance.IntN(8) {
			case 0, 1:
				b.Stop()
				b.Start()
				restarts++
			case 2, 3:
				f.Set(true)
				b.HangUp()
				time.Sleep(time.Duration(chance.IntN(300)) * time.Millisecond)
				f.Set(false)
				cuts++
			default:
				f.mu.Lock()
				if f.kill != nil {
					f.kill(errKilled)
				}
				f.mu.Unlock()
				kills++
			}
		}
		t.Logf("%d kills, %d cuts and %d server restarts in %d runs", kills, cuts, restarts, run+1)
		l.end(t, models)
		cancel()
		b.Stop()
	}
}

// LongCut cuts off two members that are not neighbors from the broker, one after the other, each for the given length
// of time. It checks that no member ends its run during a cut and that the models equal those of a fault-free run.
func LongCut(t *testing.T, length time.Duration, b Broker) {
	n := Ring("long cut", 8, false, 16)
	_, models := n.Quiet(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	l := n.start(ctx, cancel, b)
	for _, i := range []int{2, 6} {
		time.Sleep(100 * time.Millisecond)
		l.fates[i].Set(true)
		time.Sleep(length)
		if l.ended.Load() > 0 {
			t.Errorf("a member ended its run while member %d was cut off from the broker", i)
		}
		l.fates[i].Set(false)
	}
	restored := time.Now()
	l.end(t, models)
	t.Logf("cut off twice for %v; the run was over %v later", length, time.Since(restored))
}
