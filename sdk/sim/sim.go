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

// FaultSchedule returns the delays, in ticks, of all copies of a message that arrive: {0} if the message arrives once
// and on time, {0, 0} if it arrives twice, an empty list if it is lost. seq numbers the messages from one client to
// another, starting at 0. A FaultSchedule must be a pure function, because it is called in any order and from any
// goroutine. The caller must not change the list.
type FaultSchedule func(from, to, seq int) []int

// Sim is a network of machines in virtual time, which advances in ticks. In a tick every client receives what has
// arrived and makes its next release if it can; otherwise its machine gets a Tick. A message arrives one tick after it
// is sent, so a round without faults takes one tick.
//
// GOMAXPROCS goroutines share the clients of a tick. The results do not depend on the number of goroutines: OnSend,
// Faults and the transcript see clients in the order of their numbers. A Sim is not safe for concurrent use. Set its
// fields before Run.
//
// If none of Faults, Asleep, Seed and Forge is set, receivers read each release from its sender's memory in the next
// tick. The allocations of a tick then do not depend on the number of clients and messages.
type Sim struct {
	// OnSend, if not nil, is called with every sent message, including lost messages. The message's vectors are valid
	// only during the call.
	OnSend func(admm.Message)
	// OnRelease, if not nil, is called with a client's machine right after each of its releases. Several goroutines
	// call OnRelease, each for different clients.
	OnRelease func(client int, m *admm.Machine)
	// Meter, if not nil, returns a measuring function for each goroutine of a tick. That function measures a sent
	// message, for example by the bytes of its frame; lost messages are measured, too. [Sim.Weight] returns the sum. A
	// release to all neighbors is measured once and added once for each neighbor. The vectors are valid during the
	// call, and an error ends the run.
	Meter func() func(*admm.Message) (int, error)

	// Faults, if not nil, decides what happens to each message. Lost messages are sent again and do not change results.
	Faults FaultSchedule
	// Forge, if not nil, replaces each message that carries a release, to simulate malicious members. It is called in
	// the order of clients and of their neighbors, after all releases of the tick. The message's vectors are a copy.
	Forge func(admm.Message) admm.Message
	// Asleep, if not nil, reports whether a client does nothing in a tick, counted from 0. Messages to the client wait
	// until it is awake.
	Asleep func(client, tick int) bool
	// Seed, if not 0, shuffles the arrivals of a tick. Otherwise messages arrive in the order in which they were sent.
	Seed uint64

	members    []*member
	workers    []*worker
	direct     bool                   // in this tick every client reads what all its neighbors posted in the previous tick
	transit    map[int][]admm.Message // sent messages that are not read directly, by tick of arrival
	tick       int                    // tick in progress
	idle       int                    // ticks since the last release
	last       int
	over       int // number of complete rounds
	transcript *Transcript
	spare      [][]float32 // reusable model storage
}

const (
	idleLimit = 10_000 // a simulation gives up after this many ticks without a release
	shuffle   = 8      // separates the draws of Seed from those of the fault schedules in package tinytest
)

var onTime = []int{0} // delays of every message without faults

// New returns a simulation at the start of round 0. It rejects clients that disagree on the number of rounds or on
// which clients are neighbors.
func New(clients []Client) (*Sim, error) {
	if len(clients) == 0 {
		return nil, errors.New("sim: no clients")
	}
	s := &Sim{last: clients[0].Config.Last(), transit: map[int][]admm.Message{}}
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
		place := make([]int32, 0, len(c.Config.Neighbors))
		for _, j := range c.Config.Neighbors {
			if j < 0 || j >= len(clients) {
				return nil, fmt.Errorf("sim: client %d has neighbor %d, want 0..%d", i, j, len(clients)-1)
			}
			at, mutual := slices.BinarySearch(clients[j].Config.Neighbors, i)
			if !mutual {
				return nil, fmt.Errorf("sim: client %d has neighbor %d, but that neighbor does not list the client", i, j)
			}
			place = append(place, int32(at))
		}
		m, err := admm.New(c.Config)
		if err != nil {
			return nil, fmt.Errorf("sim: client %d: %w", i, err)
		}
		s.members = append(s.members, &member{
			machine: m, oracle: c.Oracle, neighbors: slices.Clone(c.Config.Neighbors), place: place, sent: map[int]int{},
		})
	}
	return s, nil
}

// Run runs all remaining rounds. The function each, if not nil, is called after every round; its error ends the run.
// Run also fails if no client makes a release for 10,000 ticks. Do not call Run again after an error.
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

// Ticks returns the number of past ticks; without faults it equals the number of rounds.
func (s *Sim) Ticks() int { return s.tick }

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
	for i, c := range s.members {
		all = c.machine.AppendModel(all)
		x[i] = all[i*dim : (i+1)*dim : (i+1)*dim]
	}
	return x
}

// Queries returns the number of losses that all clients together requested, and the number of these requests that
// failed.
func (s *Sim) Queries() (asked, failed int64) {
	for _, c := range s.members {
		st := c.machine.Status()
		asked += st.Queries
		failed += st.Failed
	}
	return asked, failed
}
