package sim

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/zoest"
)

// member is a client. During a tick only one goroutine uses it.
type member struct {
	machine   *admm.Machine
	oracle    zoest.Oracle
	neighbors []int
	in, out   []admm.Message // messages of this tick; out holds copies
	released  int            // round of the release made in this tick, or 0
	model     []float32      // model of that release; before the release, reusable storage
	err       error
}

// post is a release of a client that sends nothing else in a tick. It stays in the memory of its machine, and all posts
// together fit into a near cache, where each client finds those of its neighbors.
type post struct {
	round int // 0 for none
	admm.Payload
}

// worker is the scratch memory of one goroutine of a tick.
type worker struct {
	losses []float64 // storage for the answers to one window of queries
	room   admm.Room // lent to the active machine
	weigh  func(*admm.Message) (int, error)
	weight int64
}

func (s *Sim) step(ctx context.Context) error {
	for i := range s.members {
		c := &s.members[i]
		if n := len(s.spare); c.model == nil && n > 0 {
			c.model, s.spare = s.spare[n-1][:0], s.spare[:n-1]
		}
	}
	s.work(ctx)
	if err := ctx.Err(); err != nil {
		return err
	}
	s.direct = true
	for i := range s.members {
		c := &s.members[i]
		if c.err != nil {
			return fmt.Errorf("sim: client %d, %w", i, c.err)
		}
		if c.released > 0 {
			s.transcript.Add(c.released, i, c.model)
			c.model = nil
		}
		s.direct = s.direct && s.fresh[i].round > 0
	}
	for i := range s.members {
		c, round := &s.members[i], s.fresh[i].round
		if round > 0 && !s.direct {
			for edge := range c.neighbors {
				c.keep(c.machine.Posted(edge, round))
			}
		}
		for i := range c.out {
			s.send(c.out[i])
		}
		clear(c.out)
		c.out = c.out[:0]
	}
	s.posted, s.fresh = s.fresh, s.posted
	clear(s.fresh)
	return nil
}

// work runs every client through the tick, on at most GOMAXPROCS goroutines.
func (s *Sim) work(ctx context.Context) {
	workers := min(runtime.GOMAXPROCS(0), len(s.members))
	for len(s.workers) < workers {
		w := new(worker)
		if s.Meter != nil {
			w.weigh = s.Meter()
		}
		s.workers = append(s.workers, w)
	}
	// A goroutine begins with its own share of the clients, the same in every tick, and then helps with the other shares. So
	// neighbors in memory rarely belong to two processors at a time, and a small network stays in the caches.
	taken := make([]atomic.Int64, workers)  // number of clients of each share that goroutines have taken
	some := 1 + len(s.members)/(64*workers) // a goroutine takes so many at a time, because counting slows the others down
	work := func(own int) {
		for k := range workers {
			share := (own + k) % workers
			begin, end := share*len(s.members)/workers, (share+1)*len(s.members)/workers
			for ctx.Err() == nil {
				next := begin + int(taken[share].Add(int64(some)))
				if next-some >= end {
					break
				}
				for i := next - some; i < min(next, end); i++ {
					s.live(ctx, i, s.workers[own])
				}
			}
		}
	}
	var others sync.WaitGroup
	for own := 1; own < workers; own++ {
		others.Go(func() { work(own) })
	}
	work(0)
	others.Wait()
}

// live runs a client through one tick.
func (s *Sim) live(ctx context.Context, number int, w *worker) {
	c := &s.members[number]
	c.released = 0
	c.machine.Lend(&w.room)
	c.err = s.receive(ctx, number, w)
	if c.machine.Lend(&w.room); c.released > 0 && s.OnRelease != nil {
		s.OnRelease(number, c.machine)
	}
	if out := c.machine.Outgrown(); c.err == nil && out > 0 && s.Forge == nil {
		c.err = fmt.Errorf("round %d: the model has diverged; try a smaller step or gain", out)
	}
}

// receive gives a client what has arrived, and drives it.
func (s *Sim) receive(ctx context.Context, number int, w *worker) error {
	c := &s.members[number]
	if s.direct {
		// A neighbor that runs concurrently does not change the release that is read here: the neighbor makes at most
		// one release in a tick, which overwrites an older release.
		for _, j := range c.neighbors {
			p := &s.posted[j]
			err := c.machine.Receive(admm.Message{Kind: admm.Release, From: j, To: number, Round: p.round, Vector: p.Vector, Grid: p.Grid})
			if err != nil {
				return err
			}
		}
	}
	for i := range c.in {
		if err := c.machine.Receive(c.in[i]); err != nil {
			return err
		}
	}
	clear(c.in)
	c.in = c.in[:0]
	if err := s.drive(ctx, number, w); err != nil || c.released > 0 {
		return err
	}
	c.machine.Tick()
	return s.drive(ctx, number, w)
}

// drive performs a machine's duties until it has made a release or must wait.
func (s *Sim) drive(ctx context.Context, number int, w *worker) error {
	c := &s.members[number]
	for {
		r, err := c.machine.Ready()
		if err == nil {
			err = w.measure(r.Send)
		}
		if err != nil {
			return err
		}
		if r.Released > 0 && s.Forge == nil && len(c.out) == 0 && c.posts(r.Send, r.Released) {
			s.fresh[number].round = r.Released
			if len(r.Send) > 0 {
				s.fresh[number].Payload = r.Send[0].Payload()
			}
		} else {
			for i := range r.Send {
				c.keep(r.Send[i])
			}
		}
		if r.Released > 0 {
			c.released, c.model = r.Released, c.machine.AppendModel(c.model)
			return nil
		}
		if r.Reserve > 0 {
			continue // a simulation has no ledger
		}
		if len(r.Queries) == 0 {
			return nil
		}
		for open := r.Queries; len(open) > 0; open = c.machine.Queries() {
			w.losses = slices.Grow(w.losses[:0], len(open))[:len(open)]
			err = zoest.Ask(ctx, c.oracle, open, w.losses, 0)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if refused := c.machine.Answer(w.losses...); refused != nil {
				return fmt.Errorf("round %d: %w", c.machine.Begun()-1, cmp.Or(err, refused))
			}
		}
	}
}

// posts reports whether send has exactly one release for each neighbor, in the order of the neighbors.
func (c *member) posts(send []admm.Message, round int) bool {
	if len(send) != len(c.neighbors) {
		return false
	}
	for i, j := range c.neighbors {
		m := &send[i]
		if m.To != j || m.Round != round || m.Resent || m.Kind != admm.Release {
			return false
		}
	}
	return true
}

// keep adds a copy of a message to the messages sent in this tick.
//
//go:noinline
func (c *member) keep(msg admm.Message) {
	if msg.Kind == admm.Done {
		return // no client exits a simulation
	}
	msg.Vector, msg.Grid = slices.Clone(msg.Vector), slices.Clone(msg.Grid)
	c.out = append(c.out, msg)
}

func (w *worker) measure(send []admm.Message) (err error) {
	if w.weigh == nil {
		return nil
	}
	var n int
	for i := range send {
		m := &send[i]
		if m.Kind == admm.Done {
			continue
		}
		if i == 0 || !m.Repeats(&send[i-1]) {
			if n, err = w.weigh(m); err != nil {
				return err
			}
		}
		w.weight += int64(n)
	}
	return nil
}

func (s *Sim) send(msg admm.Message) {
	if s.Forge != nil && msg.Kind == admm.Release {
		msg = s.Forge(msg)
	}
	to := &s.members[msg.To]
	to.in = append(to.in, msg)
}
