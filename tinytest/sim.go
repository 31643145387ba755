package tinytest

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/zoest"
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// Client is one member of a simulated network. Its number, Config.Estimator.Client, must be its place in the list.
//
// The oracles, and the sources of noise, of different clients are called from different goroutines at the same time: clients may
// share what is safe for that, and nothing whose answers depend on the order of calls. One client's are called by one goroutine
// at a time.
type Client struct {
	Config admm.Config
	Oracle zoest.Oracle
}

// Sim is a network of machines in virtual time, which passes in ticks. In a tick every client takes in what has arrived and
// goes on to its next release, if it can make one; a machine that cannot is told so, by its Tick. What is sent arrives one tick
// later. So without faults the clients go through the rounds in step, one a tick.
//
// The clients of a tick are spread over GOMAXPROCS goroutines. What comes out does not depend on their number: calls of OnSend,
// fates and transcript are in the order of client, and of sending. A Sim itself is not safe for concurrent use.
type Sim struct {
	// OnSend, if not nil, sees every message when it is sent, lost ones included. The vectors are valid during the call.
	OnSend func(admm.Message)

	// Fate, if not nil, says what becomes of each message. Losing some is harmless, and changes no bit: they are sent again. With
	// Config.Lossy rounds close without what is late, and clients may drift apart.
	Fate Fate
	// Asleep, if not nil, says of each client whether it does nothing in a tick, counted from 0; what arrives meanwhile
	// waits for it.
	Asleep func(client, tick int) bool
	// Seed, if not 0, shuffles what arrives in one tick; otherwise it is in the order in which it was sent.
	Seed uint64

	members []*member
	air     map[int][]admm.Message // under way, by the tick of arrival
	tick    int                    // in progress
	still   int                    // ticks since the last release
	last    int
	rounds  releases
	tracing bool
}

// stillFor is after how many ticks without a release a simulation gives up.
const stillFor = 10_000

// member is a client at work. Beside its own goroutine of a tick nobody touches it.
type member struct {
	machine   *admm.Machine
	oracle    zoest.Oracle
	neighbors []int
	sent      []int          // how many messages, by neighbor
	in, out   []admm.Message // of this tick; out holds copies
	asleep    bool
	released  int       // in this tick, or 0
	model     []float32 // of that release
	note      []byte    // its line of a trace
	err       error
}

// NewSim returns a simulation at the start of round 0. It refuses a network whose clients do not agree on the number of
// rounds, or on who is whose neighbor.
func NewSim(clients []Client) (*Sim, error) {
	if len(clients) == 0 {
		return nil, errors.New("tinytest: no clients")
	}
	s := &Sim{
		last:   clients[0].Config.Rounds + clients[0].Config.Cooldown,
		air:    map[int][]admm.Message{},
		rounds: releases{n: len(clients), hash: sha256.New()},
	}
	adjacent := make(map[[2]int]bool)
	for i, c := range clients {
		if int(c.Config.Estimator.Client) != i {
			return nil, fmt.Errorf("tinytest: client %d has number %d, want its place in the list", i, c.Config.Estimator.Client)
		}
		if last := c.Config.Rounds + c.Config.Cooldown; last != s.last {
			return nil, fmt.Errorf("tinytest: client %d makes %d rounds, client 0 makes %d", i, last, s.last)
		}
		if c.Oracle == nil {
			return nil, fmt.Errorf("tinytest: client %d has no oracle", i)
		}
		for _, j := range c.Config.Neighbors {
			if j < 0 || j >= len(clients) {
				return nil, fmt.Errorf("tinytest: client %d has neighbor %d, want 0..%d", i, j, len(clients)-1)
			}
			adjacent[[2]int{i, j}] = true
		}
	}
	for i, c := range clients {
		for _, j := range c.Config.Neighbors {
			if !adjacent[[2]int{j, i}] {
				return nil, fmt.Errorf("tinytest: %d is a neighbor of client %d, but not the other way round", j, i)
			}
		}
		m, err := admm.New(c.Config)
		if err != nil {
			return nil, fmt.Errorf("tinytest: client %d: %w", i, err)
		}
		s.members = append(s.members, &member{
			machine: m, oracle: c.Oracle,
			neighbors: slices.Clone(c.Config.Neighbors), sent: make([]int, len(c.Config.Neighbors)),
		})
	}
	return s, nil
}

// Run goes through all rounds that are left and calls each, if not nil, after every one of them, when all clients have made its
// release; an error from each ends the run. So does a network in which nobody has made a release for 10,000 ticks.
func (s *Sim) Run(ctx context.Context, each func(round int) error) error {
	for s.rounds.over < s.last {
		before := s.rounds.over
		if err := s.Step(ctx); err != nil {
			return err
		}
		for round := before + 1; each != nil && round <= s.rounds.over; round++ {
			if err := each(round); err != nil {
				return err
			}
		}
	}
	return nil
}

// Step lets one tick pass: without faults, every client goes through one round. It must not be called again after an error, or
// after the last round.
func (s *Sim) Step(ctx context.Context) error {
	if s.rounds.over == s.last {
		return fmt.Errorf("tinytest: all %d rounds are over", s.last)
	}
	if s.still == stillFor {
		return s.standstill()
	}
	s.arrive()
	for i, c := range s.members {
		c.asleep = s.Asleep != nil && s.Asleep(i, s.tick)
	}
	s.live(ctx)
	if err := ctx.Err(); err != nil {
		return err
	}
	s.still++
	for i, c := range s.members {
		if c.err != nil {
			return c.err
		}
		if c.released > 0 {
			s.still = 0
			s.rounds.add(c.released, i, c.model, c.note)
		}
	}
	for _, c := range s.members {
		for _, msg := range c.out {
			s.send(c, msg)
		}
		c.out = c.out[:0]
	}
	s.tick++
	return nil
}

// arrive hands out what is due in this tick.
func (s *Sim) arrive() {
	due := s.air[s.tick]
	delete(s.air, s.tick)
	if s.Seed != 0 {
		order := rng.New(s.Seed, rng.Address{Purpose: rng.Fault, Component: kindOrder, Round: uint32(s.tick)})
		order.Shuffle(len(due), func(i, j int) { due[i], due[j] = due[j], due[i] })
	}
	for _, msg := range due {
		to := s.members[msg.To]
		to.in = append(to.in, msg)
	}
}

// live takes every client that is awake through the tick, on as many goroutines as there are processors.
func (s *Sim) live(ctx context.Context) {
	workers := min(runtime.GOMAXPROCS(0), len(s.members))
	portion := max(1, len(s.members)/(8*workers)) // few enough to be shared evenly, many enough to be cheap
	var next atomic.Int64
	work := func() {
		var losses []float64 // room for the answers to one window of queries
		for ctx.Err() == nil {
			to := int(next.Add(int64(portion)))
			from := to - portion
			if from >= len(s.members) {
				return
			}
			for _, c := range s.members[from:min(to, len(s.members))] {
				c.released = 0
				if !c.asleep {
					c.err = c.live(ctx, s.tracing, &losses)
				}
			}
		}
	}
	if workers == 1 {
		work()
		return
	}
	var wg sync.WaitGroup
	for range workers {
		wg.Go(work)
	}
	wg.Wait()
}

// live is one tick of a client.
func (c *member) live(ctx context.Context, tracing bool, losses *[]float64) error {
	for _, msg := range c.in {
		if err := c.machine.Receive(msg); err != nil {
			return err
		}
	}
	clear(c.in)
	c.in = c.in[:0]
	if err := c.drive(ctx, tracing, losses); err != nil || c.released > 0 {
		return err
	}
	c.machine.Tick()
	return c.drive(ctx, tracing, losses)
}

// drive does a machine's duties until it has made a release, or can only wait.
func (c *member) drive(ctx context.Context, tracing bool, losses *[]float64) error {
	for {
		r, err := c.machine.Ready()
		if err != nil {
			return err
		}
		var vector []float32 // of the message before, and its copy
		var copied []float32
		for _, msg := range r.Send {
			if msg.Kind == admm.Done {
				continue // nobody leaves a simulation
			}
			if len(msg.Vector) > 0 && (len(vector) == 0 || &vector[0] != &msg.Vector[0]) {
				vector, copied = msg.Vector, slices.Clone(msg.Vector)
			}
			if len(msg.Vector) > 0 {
				msg.Vector = copied
			}
			msg.Grid = slices.Clone(msg.Grid)
			c.out = append(c.out, msg)
		}
		if r.Released > 0 {
			c.released, c.model = r.Released, c.machine.Model()
			if tracing {
				c.note = appendNote(c.note[:0], c.machine.State())
			}
			return nil
		}
		if r.Reserve > 0 {
			continue // nobody's budget is at stake
		}
		if len(r.Queries) == 0 {
			return nil
		}
		*losses = slices.Grow((*losses)[:0], len(r.Queries))[:len(r.Queries)]
		err = zoest.Ask(ctx, c.oracle, r.Queries, *losses, 0)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if refused := c.machine.Answer(*losses...); refused != nil {
			return errors.Join(refused, err)
		}
	}
}

// send puts a message on its way.
func (s *Sim) send(c *member, msg admm.Message) {
	if s.OnSend != nil {
		s.OnSend(msg)
	}
	late := onTime
	if s.Fate != nil {
		j, _ := slices.BinarySearch(c.neighbors, msg.To)
		late = s.Fate(msg.From, msg.To, c.sent[j])
		c.sent[j]++
	}
	for _, ticks := range late {
		at := s.tick + 1 + max(0, ticks)
		s.air[at] = append(s.air[at], msg)
	}
}

// standstill says who is behind, and whom that client waits for.
func (s *Sim) standstill() error {
	behind, least := 0, s.members[0].machine.Status()
	for i, c := range s.members {
		if st := c.machine.Status(); st.Round < least.Round {
			behind, least = i, st
		}
	}
	return fmt.Errorf("tinytest: no release for %d ticks: client %d has made %d of %d and waits for %v",
		stillFor, behind, least.Round, s.last, least.Waiting)
}

// Round returns how many rounds are over: of which all clients have made the release.
func (s *Sim) Round() int { return s.rounds.over }

// Ticks returns how many ticks have passed: as many as rounds if nothing went wrong.
func (s *Sim) Ticks() int { return s.tick }

// Models returns a copy of every client's released model.
func (s *Sim) Models() [][]float32 {
	x := make([][]float32, len(s.members))
	for i, c := range s.members {
		x[i] = c.machine.Model()
	}
	return x
}

// Averages returns a copy of every client's mean of all its releases; nil for one without Config.Average.
func (s *Sim) Averages() [][]float32 {
	x := make([][]float32, len(s.members))
	for i, c := range s.members {
		x[i] = c.machine.Averaged()
	}
	return x
}

// Queries returns how many losses all clients have asked for, and how many of these could not be had.
func (s *Sim) Queries() (asked, failed int64) {
	for _, c := range s.members {
		st := c.machine.Status()
		asked += st.Queries
		failed += st.Failed
	}
	return asked, failed
}
