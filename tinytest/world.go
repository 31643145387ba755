package tinytest

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/pair"
	"github.com/spade-dfl/spade-edge/sdk/sim"
	"github.com/spade-dfl/spade-edge/transport"
	"github.com/spade-dfl/spade-edge/transport/mem"
	"github.com/spade-dfl/spade-edge/zoest"
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// World is a fleet of real nodes in one process, on a network and on disks that a test controls: Link has the faults of
// the network, Disks those of the disks, and [World.Play] replaces a member by an adversary. Keys and noise follow from
// Seed. A release that a crash has lost gets the same noise again, so that the models of a run with faults can be
// compared, bit for bit, with those of [World.Simulate]; on devices noise is always fresh. In a bubble of package
// testing/synctest, all pauses are virtual and take no time.
//
// Set the fields before the first call of a method. A World is safe for concurrent use.
type World struct {
	Fleet   *sdk.Fleet
	Seed    uint64
	Samples []int                           // by client, m_i, at least 1; for the clients that it lacks: 4 to 6
	Oracle  func(client int) zoest.Oracle   // nil: [SquaredProbability] with the seed of the world
	Link    Link                            // for all frames; nil: nothing is lost
	Disks   map[string]OpenStore            // by member; without a disk, a process has no Store
	Change  func(client int, c *sdk.Config) // alters the configuration of each process; nil: no change
	// Open opens a member's end of the network, which the world closes; nil: a network in memory.
	Open func(member string) (transport.Transport, error)

	once   sync.Once
	net    *mem.Net
	mu     sync.Mutex
	closes map[string]func() error // by member: ends its process
}

// init sets what the fields leave out.
func (w *World) init() error {
	if w.Fleet == nil {
		return errors.New("tinytest: a world without a fleet")
	}
	w.once.Do(func() {
		w.net, w.closes = mem.New(w.Fleet.Members...), map[string]func() error{}
		w.Samples = slices.Clone(w.Samples)
		for i := len(w.Samples); i < len(w.Fleet.Members); i++ {
			w.Samples = append(w.Samples, 4+i%3)
		}
		if w.Oracle == nil {
			w.Oracle = func(client int) zoest.Oracle {
				return SquaredProbability(w.Seed, client, w.Fleet.Dim, w.Samples[client])
			}
		}
		if w.Open == nil {
			w.Open = func(member string) (transport.Transport, error) { return w.net.Node(member) }
		}
	})
	return nil
}

// Key returns the private key of a member.
func (w *World) Key(member string) ed25519.PrivateKey {
	seed := sha256.Sum256(fmt.Appendf(nil, "key %d of %s", w.Seed, member))
	return ed25519.NewKeyFromSeed(seed[:])
}

// Keys returns the public keys of a member, for Config.Keys.
func (w *World) Keys(member string) []ed25519.PublicKey {
	return []ed25519.PublicKey{w.Key(member).Public().(ed25519.PublicKey)}
}

// noise is a source of noise that depends on the release alone. A release reads its source once.
type noise func() rng.Address

func (n noise) Read(b []byte) (int, error) {
	s := rng.New(0, n())
	return s.Read(b)
}

func (w *World) noise(client int, round func() int) io.Reader {
	return noise(func() rng.Address {
		return rng.Address{Purpose: rng.Noise, Client: uint32(client), Round: uint32(round()), Step: uint32(w.Seed)}
	})
}

// transport opens the network of a member.
func (w *World) transport(member string) (transport.Transport, error) {
	tr, err := w.Open(member)
	if err != nil || w.Link == nil {
		return tr, err
	}
	return Linked(tr, w.Link, member, w.Fleet.Members...), nil
}

// Start starts a process of a member and returns its node, which the caller runs. The process ends with the next Start
// of the member or with [World.Close]; its node must not run any more by then.
func (w *World) Start(member string) (*sdk.Node, error) { return w.start(member, nil) }

// start does the work of Start, and adds all releases to the transcript, if it is not nil.
func (w *World) start(member string, t *sim.Transcript) (node *sdk.Node, err error) {
	if err := errors.Join(w.init(), w.end(member)); err != nil {
		return nil, err
	}
	i := slices.Index(w.Fleet.Members, member)
	if i < 0 {
		return nil, fmt.Errorf("tinytest: %q is no member, want one of %q", member, w.Fleet.Members)
	}
	cfg := sdk.Config{Fleet: w.Fleet, Name: member, Samples: w.Samples[i], Oracle: w.Oracle(i),
		Key: w.Key(member), Keys: w.Keys, ResendAfter: 50 * time.Millisecond}
	if !w.Fleet.Privacy.NonPrivate {
		cfg.Noise = w.noise(i, func() int { return node.Status().Round })
	}
	if w.Fleet.Privacy.PairSigma > 0 {
		cfg.Secret = func(neighbor string) pair.Secret {
			return sim.PairSecret(w.Fleet.Method.Seed, i, slices.Index(w.Fleet.Members, neighbor))
		}
	}
	if open := w.Disks[member]; open != nil {
		if cfg.Store, err = open(); err != nil {
			return nil, err
		}
	}
	if cfg.Transport, err = w.transport(member); err != nil {
		return nil, err
	}
	w.mu.Lock()
	w.closes[member] = func() error {
		err := cfg.Transport.Close()
		if cfg.Store != nil {
			err = errors.Join(err, cfg.Store.Close())
		}
		return err
	}
	w.mu.Unlock()
	process := cfg
	if w.Change != nil {
		w.Change(i, &process)
	}
	if seen := process.Events.Released; t != nil {
		process.Events.Released = func(round int, x []float32) {
			t.Add(round, i, slices.Clone(x))
			if seen != nil {
				seen(round, x)
			}
		}
	}
	if node, err = sdk.New(process); err == nil && t != nil && node.Status().Round > 0 {
		t.Add(node.Status().Round, i, node.Model()) // the process before may have stored it just before a crash
	}
	return node, err
}

// end ends the process of a member, if it has one.
func (w *World) end(member string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	end := w.closes[member]
	delete(w.closes, member)
	if end == nil {
		return nil
	}
	return end()
}

// Close ends the processes of all members.
func (w *World) Close() error {
	if err := w.init(); err != nil {
		return err
	}
	var errs []error
	for _, member := range w.Fleet.Members {
		errs = append(errs, w.end(member))
	}
	return errors.Join(errs...)
}

// Result is what a run led to.
type Result struct {
	Transcript string      // the hash of all releases: see [sim.Transcript]
	Models     [][]float32 // by client: the last release
}

// errOver stops nodes that are still waiting for a final message, which may have been lost.
var errOver = errors.New("every node has made its last release")

// Run runs all members until each has made its last release, and closes the world. A member whose disk returns
// [ErrCrashed] is started again. The first other error of a member ends the run.
func (w *World) Run(ctx context.Context) (Result, error) {
	if err := w.init(); err != nil {
		return Result{}, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	clients := len(w.Fleet.Members)
	transcript := sim.NewTranscript(clients, func(round int, _ [][]float32) {
		if round == w.Fleet.Method.Last() {
			cancel(errOver)
		}
	})
	models, errs := make([][]float32, clients), make([]error, clients)
	var wg sync.WaitGroup
	for i, member := range w.Fleet.Members {
		wg.Go(func() {
			for again := true; again; {
				models[i], errs[i] = w.process(ctx, i, transcript)
				again = errors.Is(errs[i], ErrCrashed)
			}
			if errors.Is(errs[i], errOver) {
				errs[i] = nil
			} else if errs[i] != nil {
				errs[i] = fmt.Errorf("tinytest: member %q: %w", member, errs[i])
				cancel(errs[i])
			}
		})
	}
	wg.Wait()
	err := w.Close()
	if errors.Join(errs...) != nil {
		err = context.Cause(ctx)
	}
	return Result{transcript.Sum(), models}, err
}

// process runs one process of a member until the run ends or the process crashes.
func (w *World) process(ctx context.Context, i int, t *sim.Transcript) ([]float32, error) {
	node, err := w.start(w.Fleet.Members[i], t)
	if err != nil {
		return nil, err
	}
	err = node.Run(ctx)
	return node.Model(), err
}

// Simulate computes the same run with package sim: without faults, and without adversaries.
func (w *World) Simulate(ctx context.Context) (Result, error) {
	if err := w.init(); err != nil {
		return Result{}, err
	}
	made := make([]int, len(w.Fleet.Members)) // releases
	cfgs, err := sim.Machines(w.Fleet, w.Samples, func(client int) io.Reader {
		return w.noise(client, func() int { return made[client] })
	})
	if err != nil {
		return Result{}, err
	}
	var clients []sim.Client
	for i, c := range cfgs {
		clients = append(clients, sim.Client{Config: c, Oracle: w.Oracle(i)})
	}
	s, err := sim.New(clients)
	if err != nil {
		return Result{}, err
	}
	s.OnRelease = func(client int, _ *admm.Machine) { made[client]++ }
	err = s.Run(ctx, nil)
	return Result{s.Transcript(), s.Models()}, err
}
