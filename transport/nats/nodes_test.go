package nats

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/sim"
	"github.com/spade-dfl/spade-edge/sdk/wire"
	"github.com/spade-dfl/spade-edge/tinytest"
	"github.com/spade-dfl/spade-edge/transport"
	"github.com/spade-dfl/spade-edge/transport/mem"
	"github.com/spade-dfl/spade-edge/zoest"
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// ring8 is a fleet of eight: a ring with two chords.
func ring8(run string, private bool, rounds int) *network {
	f := &sdk.Fleet{
		Run: run, Dim: 6,
		Members: []string{"a", "b", "c", "d", "e", "f", "g", "h"},
		Method: sdk.Method{Rounds: rounds, Cooldown: rounds / 2, Tau: 2, Batch: 3, Rho: 1, Gain: 0.4,
			Eta: []float64{0.5}, Mu: []float64{0.3}, Seed: 7},
		Privacy: sdk.Privacy{NonPrivate: true},
	}
	if private {
		f.Privacy = sdk.Privacy{Clip: 0.2, Sigma: 0.1, Delta: 1e-5}
	}
	for i, name := range f.Members {
		f.Edges = append(f.Edges, [2]string{name, f.Members[(i+1)%len(f.Members)]})
	}
	f.Edges = append(f.Edges, [2]string{"a", "e"}, [2]string{"c", "g"})
	n := &network{Fleet: f, Noise: func(client int) io.Reader {
		s := rng.New(5, rng.Address{Purpose: rng.Noise, Client: uint32(client)})
		return &s
	}}
	for i := range f.Members {
		n.Samples = append(n.Samples, 4+i)
		n.Oracles = append(n.Oracles, zoest.Oracle(tinytest.SquaredProbability(3, i, f.Dim, 4+i)))
	}
	return n
}

// network is a fleet with what its members have.
type network struct {
	Fleet   *sdk.Fleet
	Samples []int
	Oracles []zoest.Oracle
	Noise   func(client int) io.Reader
}

// Run runs the network as nodes over the given transports, until each has its last release. It returns the transcript
// and every node's model.
func (n *network) Run(ctx context.Context, transports []transport.Transport) (string, [][]float32, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	over := errors.New("every node has its last release") // some may wait for a final message that got lost
	transcript := sim.NewTranscript(len(n.Samples), func(round int, _ [][]float32) {
		if round == n.Fleet.Method.Last() {
			cancel(over)
		}
	})
	models, errs := make([][]float32, len(n.Samples)), make([]error, len(n.Samples))
	var wg sync.WaitGroup
	for i, name := range n.Fleet.Members {
		cfg := sdk.Config{
			Fleet: n.Fleet, Name: name, Samples: n.Samples[i], Oracle: n.Oracles[i], Transport: transports[i],
			ResendAfter: 50 * time.Millisecond,
			Observer:    sdk.Observer{Released: func(round int, x []float32) { transcript.Add(round, i, slices.Clone(x)) }},
		}
		if !n.Fleet.Privacy.NonPrivate {
			cfg.Noise = n.Noise(i)
		}
		node, err := sdk.New(cfg)
		if err != nil {
			cancel(err)
			errs[i] = err
			break
		}
		wg.Go(func() {
			if err := node.Run(ctx); err != nil && !errors.Is(err, over) {
				errs[i] = err
				cancel(err)
			}
			models[i] = node.Model()
		})
	}
	wg.Wait()
	return transcript.Sum(), models, errors.Join(errs...)
}

// quiet returns the transcript and the models of a run in memory, where nothing happens.
func quiet(t *testing.T, n *network) (string, [][]float32) {
	t.Helper()
	net := mem.New(n.Fleet.Members...)
	var all []transport.Transport
	for _, name := range n.Fleet.Members {
		tr, err := net.Node(name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, tr)
	}
	transcript, models, err := n.Run(long(t), all)
	if err != nil {
		t.Fatal(err)
	}
	return transcript, models
}

// memberConfig is what a member of a fleet needs to talk to its neighbors.
func (b *broker) memberConfig(f *sdk.Fleet, name string) Config {
	var peers []string
	for _, e := range f.Edges {
		if e[0] == name {
			peers = append(peers, e[1])
		} else if e[1] == name {
			peers = append(peers, e[0])
		}
	}
	cfg := b.config(f.Run, name, peers...)
	cfg.Fleet, cfg.Hello, cfg.CheckHello, cfg.MaxFrame = f.Hash(), f.Hello(name), f.CheckHello(name),
		wire.MaxFrame(f.Dim)
	return cfg
}

// Eight nodes over a real server: the same releases as in memory, to the bit.
func TestSameBits(t *testing.T) {
	b := newBroker(t)
	for _, private := range []bool{false, true} {
		n := ring8(fmt.Sprint("private ", private), private, 8)
		want, _ := quiet(t, n)
		var all []transport.Transport
		for _, name := range n.Fleet.Members {
			all = append(all, open(t, b.memberConfig(n.Fleet, name)))
		}
		got, _, err := n.Run(long(t), all)
		if err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Errorf("private %v: other releases than in memory", private)
		}
	}
}

// fate decides about one member: it cuts off its network, or ends its process.
type fate struct {
	cutter
	mu   sync.Mutex
	kill context.CancelCauseFunc
}

// errKilled is the end of a process that did not see it coming.
var errKilled = errors.New("killed")

// live runs a member through its lives, each with a transport and a node of its own, until its run is over.
func (f *fate) live(ctx context.Context, b *broker, n *network, i int, store tinytest.OpenStore,
	noise io.Reader) ([]float32, error) {
	for {
		process, kill := context.WithCancelCause(ctx)
		f.mu.Lock()
		f.kill = kill
		f.mu.Unlock()
		model, err := f.once(process, b, n, i, store, noise)
		kill(nil)
		if !errors.Is(err, errKilled) {
			return model, err
		}
	}
}

func (f *fate) once(ctx context.Context, b *broker, n *network, i int, store tinytest.OpenStore,
	noise io.Reader) (_ []float32, err error) {
	cfg := b.memberConfig(n.Fleet, n.Fleet.Members[i])
	f.cutter.dial = newDialer(ctx, &cfg).Dial
	cfg.Options = append(cfg.Options, dialing(&f.cutter)...)
	tr, err := New(cfg)
	if err != nil {
		return nil, err
	}
	defer tr.Close()
	s, err := store()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	node, err := sdk.New(sdk.Config{
		Fleet: n.Fleet, Name: n.Fleet.Members[i], Samples: n.Samples[i], Oracle: pausing{n.Oracles[i]}, Transport: tr,
		Store: s,
		Noise: noise, ResendAfter: 50 * time.Millisecond, Linger: 2 * time.Minute,
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { tr.link.conn.Close() }) // nothing more gets out
	defer stop()
	if err := node.Run(ctx); err != nil {
		return nil, err
	}
	return node.Model(), nil
}

// pausing makes a round last a while, so that faults fall into it.
type pausing struct{ zoest.Oracle }

func (p pausing) Loss(ctx context.Context, x []float32, sample int) (float64, error) {
	time.Sleep(200 * time.Microsecond)
	return p.Oracle.Loss(ctx, x, sample)
}

// Server restarts, cut networks and killed nodes at random moments, SPADE_KILLS of them: the models are those of the
// quiet run, to the bit.
func TestKills(t *testing.T) {
	faults(t, scale(t, "SPADE_KILLS", 12), func(t *testing.T) *broker { return newBroker(t) })
}

// faults makes runs over brokers with so many faults in all.
func faults(t *testing.T, want int, open func(t *testing.T) *broker) {
	t.Helper()
	chance := rng.New(1, rng.Address{Purpose: rng.Fault})
	var kills, cuts, restarts int
	for run := 0; kills+restarts < want; run++ {
		n := ring8(fmt.Sprint("run ", run), false, 16)
		_, models := quiet(t, n)
		b := open(t)
		ctx, cancel := context.WithTimeoutCause(context.Background(), 5*time.Minute, errors.New("the run does not end"))
		fates := make([]fate, len(models))
		got, errs := make([][]float32, len(models)), make([]error, len(models))
		var nodes, troubles sync.WaitGroup
		over := make(chan struct{})
		for i := range models {
			nodes.Go(func() {
				got[i], errs[i] = fates[i].live(ctx, b, n, i, tinytest.MemStore(), nil)
				if errs[i] != nil {
					cancel()
				}
			})
		}
		go func() { nodes.Wait(); close(over) }()
		troubles.Go(func() {
			for k := 0; k < 50 && kills+restarts < want; k++ {
				select {
				case <-over:
					return
				case <-time.After(time.Duration(1+chance.IntN(100)) * time.Millisecond):
				}
				f := &fates[chance.IntN(len(fates))]
				switch chance.IntN(8) {
				case 0, 1:
					b.stop()
					b.start()
					restarts++
				case 2, 3:
					f.set(true)
					if b.tunnel != nil {
						b.tunnel.hangUp()
					}
					time.Sleep(time.Duration(chance.IntN(300)) * time.Millisecond)
					f.set(false)
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
		})
		<-over
		troubles.Wait()
		cancel()
		if err := errors.Join(errs...); err != nil {
			t.Fatalf("after %d kills, %d cuts and %d restarts: %v", kills, cuts, restarts, err)
		}
		for i := range models {
			if !slices.Equal(got[i], models[i]) {
				t.Fatalf("member %d has another model than in the quiet run", i)
			}
		}
		b.stop()
		t.Logf("%d kills, %d cuts and %d server restarts in %d runs", kills, cuts, restarts, run+1)
	}
}

// A member whose way to the broker is gone for long, a second or SPADE_CUT (such as 30s), is waited for: nobody ends
// meanwhile, and then the run goes on to the models of the quiet run. It happens twice, to two members of a ring of 8
// that are no neighbors.
func TestLongCut(t *testing.T) {
	length := time.Second
	if s := os.Getenv("SPADE_CUT"); s != "" {
		var err error
		if length, err = time.ParseDuration(s); err != nil {
			t.Fatal(err)
		}
	}
	n := ring8("long cut", false, 16)
	_, models := quiet(t, n)
	b := newBroker(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	fates := make([]fate, len(models))
	got, errs := make([][]float32, len(models)), make([]error, len(models))
	over := make(chan int, len(models))
	for i := range models {
		go func() {
			got[i], errs[i] = fates[i].live(ctx, b, n, i, tinytest.MemStore(), nil)
			if errs[i] != nil {
				cancel()
			}
			over <- i
		}()
	}
	ended := 0
	for _, i := range []int{2, 6} {
		time.Sleep(100 * time.Millisecond)
		fates[i].set(true)
		select {
		case j := <-over:
			if ended++; errs[j] == nil {
				t.Errorf("member %d has ended while member %d was cut off", j, i)
			}
		case <-time.After(length):
		}
		fates[i].set(false)
	}
	mended := time.Now()
	for ; ended < len(models); ended++ {
		<-over
	}
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	t.Logf("cut off twice for %v; the run was over %v later", length, time.Since(mended))
	for i := range models {
		if !slices.Equal(got[i], models[i]) {
			t.Errorf("member %d has another model than in the quiet run", i)
		}
	}
}
