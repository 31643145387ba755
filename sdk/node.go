package sdk

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/wire"
	"github.com/spade-dfl/spade-edge/zoest"
)

// Node is one member of a fleet at work. Its methods may be called from any goroutine.
type Node struct {
	cfg       Config
	machine   *admm.Machine  // belongs to Run
	number    map[string]int // of every member
	neighbors []int
	log       *slog.Logger

	running sync.Mutex // held by Run

	mu     sync.Mutex // guards what follows
	model  []float32
	status Status
}

// Status is where a node stands.
type Status struct {
	Round         int      // releases made so far, 0 to Rounds+Cooldown
	Waiting       []string // neighbors whose messages hold the round up
	Queries       int64    // losses asked for
	FailedQueries int64    // of these, how many could not be had; nobody outside learns this number
	BytesSent     int64    // of encoded frames handed to the transport, resent ones included
	Refused       int64    // frames that neighbors sent and that could not be right
	Done          bool     // the last release is made, and the model final
}

// New returns a node at the start of its run.
func New(cfg Config) (*Node, error) {
	p, err := cfg.validate()
	if err != nil {
		return nil, err
	}
	cfg.ResendAfter = cmp.Or(cfg.ResendAfter, 2*time.Second)
	cfg.Retries = cmp.Or(cfg.Retries, 2)
	if _, many := cfg.Oracle.(BatchOracle); many && cfg.Window == 0 {
		cfg.Window = 16
	}
	cfg.Linger = cmp.Or(cfg.Linger, 30*time.Second)
	noise := cfg.Noise
	if noise == nil && !cfg.Fleet.Privacy.NonPrivate {
		noise = rand.Reader
	}
	mcfg := cfg.Fleet.machine(p, p.number[cfg.Name], cfg.Samples, noise)
	mcfg.Estimator.Seeded = cfg.SeededTable
	mcfg.Estimator.Window = cfg.Window
	m, err := admm.New(mcfg)
	if err != nil {
		return nil, err
	}
	n := &Node{cfg: cfg, machine: m, number: p.number, neighbors: mcfg.Neighbors, log: cfg.Logger, model: m.Model()}
	if n.log == nil {
		n.log = slog.New(slog.DiscardHandler)
	}
	n.log = n.log.With("node", cfg.Name, "run", cfg.Fleet.Run)
	return n, nil
}

// Model returns a copy of the model the node holds: its last release, noise included, or the common start before the first.
func (n *Node) Model() []float32 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.model)
}

// Status returns where the node stands.
func (n *Node) Status() Status {
	n.mu.Lock()
	defer n.mu.Unlock()
	st := n.status
	st.Waiting = slices.Clone(st.Waiting)
	return st
}

// Spend returns what the releases so far have cost, in zCDP (see [dpmech.Accounting] for epsilon): 0 before the first,
// infinite after it if the fleet is not private. Cool-down rounds cost nothing.
func (n *Node) Spend() float64 {
	released := min(n.Status().Round, n.cfg.Fleet.Method.Rounds)
	if released == 0 {
		return 0
	}
	return n.cfg.Fleet.Rho() * float64(released) / float64(n.cfg.Fleet.Method.Rounds)
}

// Run takes the node through its rounds and returns nil when the model is final and the neighbors have what they need. It
// waits for neighbors as long as it takes. If ctx ends, Run returns its error between two inputs of the machine, and
// a further Run goes on from there. An error of the oracle, or a loss that is no finite number, ends a run that is not
// private; in a private run a public constant takes its place, since a silent node would tell its neighbors about its data.
func (n *Node) Run(ctx context.Context) error {
	if !n.running.TryLock() {
		return errors.New("sdk: Run is already at work on this node")
	}
	defer n.running.Unlock()
	r, err := n.start(ctx)
	if err != nil {
		return err
	}
	defer r.stop()
	return r.loop()
}

// run is one call of Run.
type run struct {
	*Node
	ctx     context.Context
	cancel  context.CancelFunc
	codec   *wire.Codec
	inbox   chan received
	outbox  map[int]chan []byte // by neighbor
	workers sync.WaitGroup      // the receiver
	senders sync.WaitGroup
	frame   wire.Frame // scratch of decoding
	losses  []float64  // scratch of asking
	waiting int        // the round of which the observer knows that it stands still, plus 1
	final   time.Time  // when the model became final
}

// received is a frame from a neighbor, or the reason why there will be no more.
type received struct {
	from  string
	frame []byte
	err   error
}

// start brings up the goroutines between the transport and the loop: one that receives, and one a neighbor that sends, so
// that nobody waits for a neighbor who is slow.
func (n *Node) start(ctx context.Context) (*run, error) {
	codec, err := wire.NewCodec(n.cfg.Fleet.Dim)
	if err != nil {
		return nil, err
	}
	r := &run{Node: n, codec: codec, inbox: make(chan received, 16), outbox: map[int]chan []byte{}}
	r.ctx, r.cancel = context.WithCancel(ctx)
	r.workers.Go(r.receive)
	for _, j := range n.neighbors {
		// A round has at most two messages under way to a neighbor; the rest is room for resent ones.
		frames := make(chan []byte, 8)
		r.outbox[j] = frames
		to := n.cfg.Fleet.Members[j]
		r.senders.Go(func() {
			for f := range frames {
				if err := n.cfg.Transport.Send(r.ctx, to, f); err != nil && r.ctx.Err() == nil {
					n.log.Warn("message not sent", "to", to, "err", err)
				}
			}
		})
	}
	return r, nil
}

// stop gives the last frames a moment to leave, then ends every goroutine that start has made.
func (r *run) stop() {
	for _, frames := range r.outbox {
		close(frames)
	}
	flushed := time.AfterFunc(min(2*time.Second, r.cfg.Linger), r.cancel)
	r.senders.Wait()
	flushed.Stop()
	r.cancel()
	r.workers.Wait()
}

// receive passes frames from the transport to the loop.
func (r *run) receive() {
	for {
		from, frame, err := r.cfg.Transport.Recv(r.ctx)
		select {
		case r.inbox <- received{from, frame, err}:
		case <-r.ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

// loop drives the machine until the run is over.
func (r *run) loop() error {
	tick := time.NewTicker(r.cfg.ResendAfter)
	defer tick.Stop()
	moved := true // since the last tick
	for {
		duties, err := r.machine.Ready()
		if err != nil {
			return err
		}
		if err := r.perform(duties); err != nil || duties.Finished {
			return err
		}
		switch {
		case duties.Released > 0:
			moved = true
			continue
		case len(duties.Queries) > 0: // what has arrived in the meantime is taken in between two queries
			moved = true
			select {
			case in := <-r.inbox:
				err = r.take(in)
			case <-r.ctx.Done():
				err = context.Cause(r.ctx)
			default:
				err = r.answer(duties.Queries)
			}
		default:
			select {
			case in := <-r.inbox:
				err = r.take(in) // no progress in itself: a neighbor may repeat itself because it lacks something
			case <-r.ctx.Done():
				err = context.Cause(r.ctx)
			case <-tick.C:
				if !moved {
					r.machine.Tick()
					r.reportWaiting()
				}
				moved = false
				if r.lingered() {
					r.log.Warn("leaving without a last word of every neighbor", "after", r.cfg.Linger)
					return nil
				}
			}
		}
		if err != nil {
			return err
		}
	}
}

// perform does a machine's duties but for the queries: it makes a release known, then sends.
func (r *run) perform(duties admm.Ready) error {
	r.publish(duties.Released)
	if duties.Released > 0 && r.cfg.Observer.Released != nil {
		r.cfg.Observer.Released(duties.Released, r.machine.Model())
	}
	if len(duties.Send) == 0 {
		return nil
	}
	var bytes int64
	for _, msg := range duties.Send {
		kind := wire.Message
		if msg.Done {
			kind = wire.Done
		}
		frame, err := r.codec.Append(nil, &wire.Frame{Kind: kind, Round: msg.Round, Resent: msg.Resent, Vector: msg.Vector})
		if err != nil {
			return err
		}
		select {
		case r.outbox[msg.To] <- frame:
			bytes += int64(len(frame))
		default: // a neighbor that takes nothing; it will be sent again
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status.BytesSent += bytes
	return nil
}

// publish makes the machine's state visible from outside, and its model after a release.
func (r *run) publish(released int) {
	st := r.machine.Status()
	r.mu.Lock()
	defer r.mu.Unlock()
	if released > 0 {
		r.model = r.machine.Model()
	}
	r.status.Round, r.status.Queries, r.status.FailedQueries, r.status.Done = st.Round, st.Queries, st.Failed, st.Complete
	r.status.Waiting = r.status.Waiting[:0]
	for _, j := range st.Waiting {
		r.status.Waiting = append(r.status.Waiting, r.cfg.Fleet.Members[j])
	}
}

// take hands a frame to the machine. Nothing that a neighbor sends ends the run.
func (r *run) take(in received) error {
	if in.err != nil {
		if r.ctx.Err() != nil {
			return context.Cause(r.ctx)
		}
		return fmt.Errorf("sdk: receiving: %w", in.err)
	}
	if err := r.deliver(in); err != nil {
		r.log.Error("frame refused", "from", in.from, "err", err)
		r.mu.Lock()
		r.status.Refused++
		r.mu.Unlock()
	}
	return nil
}

// deliver decodes a frame and gives it to the machine, which has the last word on it.
func (r *run) deliver(in received) error {
	from, member := r.number[in.from]
	if !member {
		return errors.New("sdk: the sender is not a member of the fleet")
	}
	if err := r.codec.Decode(in.frame, &r.frame); err != nil {
		return err
	}
	return r.machine.Receive(admm.Message{
		From:   from,
		Round:  r.frame.Round,
		Vector: r.frame.Vector,
		Done:   r.frame.Kind == wire.Done,
		Resent: r.frame.Resent,
	})
}

// answer asks the oracle and tells the machine.
func (r *run) answer(queries []zoest.Query) error {
	r.losses = slices.Grow(r.losses[:0], len(queries))[:len(queries)]
	err := zoest.Ask(r.ctx, r.cfg.Oracle, queries, r.losses, max(0, r.cfg.Retries))
	if r.ctx.Err() != nil {
		return context.Cause(r.ctx) // the queries stay open
	}
	if refused := r.machine.Answer(r.losses...); refused != nil {
		return errors.Join(refused, err)
	}
	if err != nil {
		r.log.Error("no loss to be had; going on with the public one in its place", "err", err)
	}
	return nil
}

// reportWaiting tells the observer, once a round, that neighbors are missing.
func (r *run) reportWaiting() {
	st := r.Status()
	if len(st.Waiting) == 0 || r.waiting == st.Round+1 {
		return
	}
	r.waiting = st.Round + 1
	if r.cfg.Observer.Waiting != nil {
		r.cfg.Observer.Waiting(st.Round, st.Waiting)
	}
}

// lingered reports whether the run has been over for as long as neighbors may expect to be served.
func (r *run) lingered() bool {
	if !r.machine.Status().Complete {
		return false
	}
	if r.final.IsZero() {
		r.final = time.Now()
	}
	return time.Since(r.final) >= r.cfg.Linger
}
