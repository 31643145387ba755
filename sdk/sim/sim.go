package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/zoest"
)

// Client is one member of a simulated network. Its number, Config.Estimator.Client, must be its index in the list that
// [New] gets. A simulation calls the oracles and noise sources of different clients concurrently, but calls the oracle
// and noise source of one client from one goroutine at a time. Clients must not share an oracle or a noise source whose
// results depend on the order of calls.
type Client struct {
	Config admm.Config
	Oracle zoest.Oracle
}

// Sim is a network of machines in virtual time, which advances in ticks. In a tick every client receives what has
// arrived and makes its next release if it can; otherwise its machine gets a Tick. A message arrives one tick after it
// is sent, in the order of sending.
//
// GOMAXPROCS goroutines share the clients of a tick. The results do not depend on the number of goroutines: Forge
// and the transcript see clients in the order of their numbers. A Sim is not safe for concurrent use. Set its
// fields before Run.
//
// If Forge is not set, receivers read each release from its sender's memory in the next tick. The allocations of a tick
// then do not depend on the number of clients and messages.
type Sim struct {
	// OnRelease, if not nil, is called with a client's machine right after each of its releases. Several goroutines
	// call OnRelease, each for different clients.
	OnRelease func(client int, m *admm.Machine)
	// Meter, if not nil, returns a measuring function for each goroutine of a tick. That function measures a sent
	// message, for example by the bytes of its frame. [Sim.Weight] returns the sum. A release to all neighbors is measured
	// once and added once for each neighbor. The vectors are valid during the call, and an error ends the run.
	Meter func() func(*admm.Message) (int, error)

	// Forge, if not nil, replaces each message that carries a release, to simulate malicious members. It is called in
	// the order of clients and of their neighbors, after all releases of the tick. The message's vectors are a copy.
	Forge func(admm.Message) admm.Message

	members    []member
	posted     []post // by client: its release of the previous tick, which every neighbor reads in this tick
	fresh      []post // by client: its release of this tick
	workers    []*worker
	direct     bool // in this tick every client reads what all its neighbors posted in the previous tick
	last       int
	over       int // number of complete rounds
	transcript *Transcript
	spare      [][]float32 // reusable model storage
}

// New returns a simulation at the start of round 0. It rejects clients that disagree on the number of rounds or on
// which clients are neighbors.
func New(clients []Client) (*Sim, error) {
	if len(clients) == 0 {
		return nil, errors.New("sim: no clients")
	}
	s := &Sim{last: clients[0].Config.Last(), members: make([]member, len(clients)), posted: make([]post, len(clients)),
		fresh: make([]post, len(clients))}
	s.transcript = NewTranscript(len(clients), func(round int, models [][]float32) {
		s.over, s.spare = round, append(s.spare, models...)
	})
	for i, c := range clients {
		switch last := c.Config.Last(); {
		case int(c.Config.Estimator.Client) != i:
			return nil, fmt.Errorf("sim: client %d has Estimator.Client %d, want the client's index in the list",
				i, c.Config.Estimator.Client)
		case last != s.last:
			return nil, fmt.Errorf("sim: client %d makes %d releases, but client 0 makes %d; want the same number "+
				"for every client", i, last, s.last)
		case c.Oracle == nil:
			return nil, fmt.Errorf("sim: client %d has no oracle", i)
		}
		for _, j := range c.Config.Neighbors {
			if j < 0 || j >= len(clients) {
				return nil, fmt.Errorf("sim: client %d has neighbor %d, want 0..%d", i, j, len(clients)-1)
			}
			if _, mutual := slices.BinarySearch(clients[j].Config.Neighbors, i); !mutual {
				return nil, fmt.Errorf("sim: client %d has neighbor %d, but that neighbor does not list the client", i, j)
			}
		}
		m, err := admm.New(c.Config)
		if err != nil {
			return nil, fmt.Errorf("sim: client %d: %w", i, err)
		}
		s.members[i] = member{machine: m, oracle: c.Oracle, neighbors: slices.Clone(c.Config.Neighbors)}
	}
	return s, nil
}

// Run runs all remaining rounds. The function each, if not nil, is called after every round; its error ends the run.
// Do not call Run again after an error.
func (s *Sim) Run(ctx context.Context, each func(round int) error) error {
	for s.over < s.last {
		before := s.over
		if err := s.step(ctx); err != nil {
			return err
		}
		for round := before + 1; each != nil && round <= s.over; round++ {
			if err := each(round); err != nil {
				return err
			}
		}
	}
	return nil
}

// Round returns the number of complete rounds. In a complete round, all clients have made their release.
func (s *Sim) Round() int { return s.over }

// Transcript returns the hash, in hex, of all complete rounds: see [Transcript].
func (s *Sim) Transcript() string { return s.transcript.Sum() }

// Weight returns the sum of Meter's measurements.
func (s *Sim) Weight() (sum int64) {
	for _, w := range s.workers {
		sum += w.weight
	}
	return sum
}

// Models returns a copy of every client's latest release; Fleet.Model of package sdk makes the model of it.
func (s *Sim) Models() [][]float32 {
	x, dim := make([][]float32, len(s.members)), len(s.members[0].machine.Model())
	all := make([]float32, 0, len(x)*dim)
	for i := range s.members {
		all = s.members[i].machine.AppendModel(all)
		x[i] = all[i*dim : (i+1)*dim : (i+1)*dim]
	}
	return x
}

// Queries returns the number of losses that all clients together requested, and the number of these requests that
// failed.
func (s *Sim) Queries() (asked, failed int64) {
	for i := range s.members {
		st := s.members[i].machine.Status()
		asked += st.Queries
		failed += st.Failed
	}
	return asked, failed
}
