package sim

import (
	"cmp"
	"context"
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
// The oracles and noise sources of different clients are called from different goroutines at the same time, those of
// one client from one goroutine at a time. Clients must not share anything whose answers depend on the order of calls.
type Client struct {
	Config admm.Config
	Oracle zoest.Oracle
}

// FaultSchedule returns the fate of message number seq, counted from 0, of those that client from sends to client to:
// for each copy that arrives, its delay in ticks. {0} is a message on time, {0, 0} one that arrives twice, and an empty
// list loses it. It is a pure function, called in any order and from any goroutine. Its result must not be changed.
type FaultSchedule func(from, to, seq int) []int

// Sim is a network of machines in virtual time, which passes in ticks. In a tick every client receives what has arrived
// and goes on to its next release if it can; otherwise its machine gets a Tick. A sent message arrives one tick later,
// so that without faults the clients go through the rounds in step, one round a tick.
//
// The clients of a tick are spread over GOMAXPROCS goroutines. The results do not depend on their number: OnSend,
// Faults and the transcript see clients in the order of their numbers. A Sim itself is not safe for concurrent use.
type Sim struct {
	// OnSend, if not nil, sees every message when it is sent, lost ones included. The vectors are valid during the call.
	OnSend func(admm.Message)
	// OnRelease, if not nil, sees a client's machine right after each of its releases. It is called from the goroutines of
	// a tick.
	OnRelease func(client int, m *admm.Machine)

	// Faults, if not nil, decides what happens to each message. Lost messages are sent again and change no bit of the
	// result. With Config.Lossy, rounds close without late messages, and clients may drift apart.
	Faults FaultSchedule
	// Asleep, if not nil, says of each client whether it does nothing in a tick, counted from 0. Its messages wait for it.
	Asleep func(client, tick int) bool
	// Seed, if not 0, shuffles what arrives in one tick; otherwise messages arrive in the order in which they were sent.
	Seed uint64

	members    []*member
	transit    map[int][]admm.Message // sent messages by the tick of their arrival
	tick       int                    // in progress
	idle       int                    // ticks since the last release
	last       int
	over       int // complete rounds
	transcript *Transcript
}

const (
	idleLimit = 10_000 // ticks without a release after which a simulation gives up
	shuffle   = 8      // tells the draws of Seed apart from those of the fault schedules in package tinytest
)

var onTime = []int{0} // every message without faults

// member is a client at work. During a tick only its own goroutine uses it.
type member struct {
	machine   *admm.Machine
	oracle    zoest.Oracle
	neighbors []int
	sent      []int          // messages sent so far, by neighbor
	in, out   []admm.Message // of this tick; out holds copies
	asleep    bool
	released  int       // round of the release made in this tick, or 0
	model     []float32 // of that release
	err       error
}

// New returns a simulation at the start of round 0. It refuses a network whose clients do not agree on the number of
// rounds or on who is whose neighbor.
func New(clients []Client) (*Sim, error) {
	if len(clients) == 0 {
		return nil, errors.New("sim: no clients")
	}
	s := &Sim{last: clients[0].Config.Rounds + clients[0].Config.Cooldown, transit: map[int][]admm.Message{}}
	s.transcript = NewTranscript(len(clients), func(round int, _ [][]float32) { s.over = round })
	for i, c := range clients {
		switch last := c.Config.Rounds + c.Config.Cooldown; {
		case int(c.Config.Estimator.Client) != i:
			return nil, fmt.Errorf("sim: client %d has number %d, want its place in the list", i, c.Config.Estimator.Client)
		case last != s.last:
			return nil, fmt.Errorf("sim: client %d makes %d rounds, client 0 makes %d", i, last, s.last)
		case c.Oracle == nil:
			return nil, fmt.Errorf("sim: client %d has no oracle", i)
		}
		for _, j := range c.Config.Neighbors {
			if j < 0 || j >= len(clients) {
				return nil, fmt.Errorf("sim: client %d has neighbor %d, want 0..%d", i, j, len(clients)-1)
			}
			if _, mutual := slices.BinarySearch(clients[j].Config.Neighbors, i); !mutual {
				return nil, fmt.Errorf("sim: client %d has neighbor %d, but not the other way round", i, j)
			}
		}
		m, err := admm.New(c.Config)
		if err != nil {
			return nil, fmt.Errorf("sim: client %d: %w", i, err)
		}
		s.members = append(s.members, &member{
			machine: m, oracle: c.Oracle,
			neighbors: slices.Clone(c.Config.Neighbors), sent: make([]int, len(c.Config.Neighbors)),
		})
	}
	return s, nil
}

// Run goes through all remaining rounds. each, if not nil, is called after every round; its error ends the run. The run
// also fails if no client makes a release for 10,000 ticks. It must not be called again after an error.
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

// step lets one tick pass.
func (s *Sim) step(ctx context.Context) error {
	if s.idle == idleLimit {
		return s.standstill()
	}
	s.arrive()
	for i, c := range s.members {
		c.asleep = s.Asleep != nil && s.Asleep(i, s.tick)
	}
	s.work(ctx)
	if err := ctx.Err(); err != nil {
		return err
	}
	s.idle++
	for i, c := range s.members {
		if c.err != nil {
			return c.err
		}
		if c.released > 0 {
			s.idle = 0
			s.transcript.Add(c.released, i, c.model)
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

// arrive hands out the messages that are due in this tick.
func (s *Sim) arrive() {
	due := s.transit[s.tick]
	delete(s.transit, s.tick)
	if s.Seed != 0 {
		order := rng.New(s.Seed, rng.Address{Purpose: rng.Fault, Component: shuffle, Round: uint32(s.tick)})
		order.Shuffle(len(due), func(i, j int) { due[i], due[j] = due[j], due[i] })
	}
	for _, msg := range due {
		to := s.members[msg.To]
		to.in = append(to.in, msg)
	}
}

// work takes every client that is awake through the tick, on as many goroutines as there are processors.
func (s *Sim) work(ctx context.Context) {
	workers := min(runtime.GOMAXPROCS(0), len(s.members))
	portion := max(1, len(s.members)/(8*workers)) // few enough to be shared evenly, many enough to be cheap
	var next atomic.Int64
	worker := func() {
		var losses []float64 // room for the answers to one window of queries
		for ctx.Err() == nil {
			to := int(next.Add(int64(portion)))
			from := to - portion
			if from >= len(s.members) {
				return
			}
			for i, c := range s.members[from:min(to, len(s.members))] {
				c.released = 0
				if c.asleep {
					continue
				}
				if c.err = c.live(ctx, &losses); c.released > 0 && s.OnRelease != nil {
					s.OnRelease(from+i, c.machine)
				}
			}
		}
	}
	if workers == 1 {
		worker()
		return
	}
	var wg sync.WaitGroup
	for range workers {
		wg.Go(worker)
	}
	wg.Wait()
}

// live takes a client through one tick.
func (c *member) live(ctx context.Context, losses *[]float64) error {
	for _, msg := range c.in {
		if err := c.machine.Receive(msg); err != nil {
			return err
		}
	}
	clear(c.in)
	c.in = c.in[:0]
	if err := c.drive(ctx, losses); err != nil || c.released > 0 {
		return err
	}
	c.machine.Tick()
	return c.drive(ctx, losses)
}

// drive does a machine's duties until it has made a release or can only wait.
func (c *member) drive(ctx context.Context, losses *[]float64) error {
	for {
		r, err := c.machine.Ready()
		if err != nil {
			return err
		}
		var vector, copied []float32 // of the message before; often the same for all neighbors
		for _, msg := range r.Send {
			if msg.Kind == admm.Done {
				continue // nobody leaves a simulation
			}
			if len(msg.Vector) > 0 {
				if len(vector) == 0 || &vector[0] != &msg.Vector[0] {
					vector, copied = msg.Vector, slices.Clone(msg.Vector)
				}
				msg.Vector = copied
			}
			msg.Grid = slices.Clone(msg.Grid)
			c.out = append(c.out, msg)
		}
		if r.Released > 0 {
			c.released, c.model = r.Released, c.machine.Model()
			return nil
		}
		if r.Reserve > 0 {
			continue // a simulation has no ledger
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
	delays := onTime
	if s.Faults != nil {
		j, _ := slices.BinarySearch(c.neighbors, msg.To)
		delays = s.Faults(msg.From, msg.To, c.sent[j])
		c.sent[j]++
	}
	for _, ticks := range delays {
		at := s.tick + 1 + max(0, ticks)
		s.transit[at] = append(s.transit[at], msg)
	}
}

// standstill returns an error that names the client that is furthest behind and whom it waits for.
func (s *Sim) standstill() error {
	behind := slices.MinFunc(s.members, func(a, b *member) int {
		return cmp.Compare(a.machine.Status().Round, b.machine.Status().Round)
	})
	st := behind.machine.Status()
	return fmt.Errorf("sim: no release for %d ticks: client %d has made %d of %d and waits for %v",
		idleLimit, slices.Index(s.members, behind), st.Round, s.last, st.Waiting)
}

// Round returns how many rounds are complete: all clients have made their release.
func (s *Sim) Round() int { return s.over }

// Ticks returns how many ticks have passed: without faults, as many as rounds.
func (s *Sim) Ticks() int { return s.tick }

// Transcript returns the hash, in hex, of all complete rounds, see [Transcript].
func (s *Sim) Transcript() string { return s.transcript.Sum() }

// Models returns a copy of every client's released model.
func (s *Sim) Models() [][]float32 { return s.vectors((*admm.Machine).Model) }

// Averages returns a copy of every client's mean of all its releases; nil for one without Config.Average.
func (s *Sim) Averages() [][]float32 { return s.vectors((*admm.Machine).Averaged) }

func (s *Sim) vectors(of func(*admm.Machine) []float32) (x [][]float32) {
	for _, c := range s.members {
		x = append(x, of(c.machine))
	}
	return x
}

// Queries returns how many losses all clients have asked for, and how many of them failed.
func (s *Sim) Queries() (asked, failed int64) {
	for _, c := range s.members {
		st := c.machine.Status()
		asked += st.Queries
		failed += st.Failed
	}
	return asked, failed
}
