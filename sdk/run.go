package sdk

import (
	"context"
	"errors"
	"time"

	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/trust"
	"github.com/spade-dfl/spade-edge/zoest"
)

// Run executes the rounds until the model is final and no neighbor needs more messages. If ctx ends first, Run can be
// called again; the error is the cause of ctx. An oracle error ends a run that is not private; in a private run a constant
// replaces the loss.
func (n *Node) Run(ctx context.Context) error {
	if !n.running.TryLock() {
		return errors.New("sdk: Run is already running")
	}
	defer n.running.Unlock()
	if n.failed != nil {
		return n.failed
	}
	r, err := n.start(ctx)
	if err != nil {
		return err
	}
	defer r.stop()
	over := false // stays false if a store or an observer panics, perhaps between a release and its record
	defer func() {
		if !over {
			n.failed = errors.New("sdk: an earlier Run ended in a panic; create a new node from the same store")
		}
	}()
	r.dropListed()
	err = r.loop()
	over = true
	return err
}

// fatal stores and returns an error after which the machine must not be called again.
func (n *Node) fatal(err error) error {
	if peer, held := n.machine.Ahead(); held > 0 { // only without keys: package trust asks for a proof
		err = trust.LostTo(n.fleet.Members[peer], held, n.machine.Status().Round)
	}
	n.failed = err
	return err
}

// loop asks the machine for its duties and carries them out, until there are none left. While the machine waits, and
// between two queries, the loop takes what neighbors have sent.
func (r *run) loop() error {
	again := r.status.Done // an earlier Run made the last release
	for {
		if r.machine.Alone() && !r.status.Done {
			return r.alone()
		}
		duties, err := r.machine.Ready()
		r.dropImpossible()
		if r.machine.Alone() && duties.Reserve > 0 { // do not charge for a release that would reach nobody
			continue
		}
		if err == nil {
			err = r.perform(duties)
		}
		if err != nil {
			return r.fatal(err)
		}
		over := false
		switch {
		case duties.Finished && again && r.trust.Left() < len(r.neighbors): // a neighbor may not know of its quarantine
			return r.serveDropped(min(2*r.cfg.ResendAfter, r.cfg.Linger))
		case duties.Finished:
			return nil
		case duties.Reserve > 0: // the next Ready draws the noise
		case duties.Released > 0:
			r.pace.progress()
		case len(duties.Queries) > 0:
			r.pace.progress()
			err = r.work(duties.Queries)
		default:
			over, err = r.rest()
		}
		if over || err != nil {
			return err
		}
	}
}

// perform carries out the machine's duties, except queries. It charges a release before the release is made, then
// stores the release and marks it as possibly sent, and only then shows and sends it.
func (r *run) perform(duties admm.Ready) error {
	if duties.Reserve > 0 {
		if err := r.secrets.bind(); err != nil {
			return err
		}
		if err := r.account.reserve(duties.Reserve); err != nil {
			return err
		}
	}
	if duties.Released > 0 {
		if err := r.record(); err != nil {
			return err
		}
		if err := r.secrets.made(duties.Released); err != nil {
			return err
		}
		r.noteOnce(duties.Released)
	}
	r.publish()
	if duties.Released > 0 {
		r.released(duties.Released)
	}
	return r.send(duties.Send)
}

// noteOnce notes what a run notes at most once, after a release.
func (r *run) noteOnce(release int) {
	if !r.remembered && release > 1 { // every neighbor has made a release
		r.remembered = true
		r.rememberHeads()
	}
	if out := r.machine.Outgrown(); out > 0 && !r.outgrown {
		r.outgrown = true
		r.log.Warn("the model was clipped to the public bound around the start vector: the model has diverged (use a smaller "+
			"eta), or a neighbor pushes it away", "release", out)
	}
}

// work answers queries. It takes at most one frame between two queries, so that a flood of frames cannot stop the work.
func (r *run) work(queries []zoest.Query) error {
	inbox := r.inbox
	if r.fed {
		inbox = nil
	}
	select {
	case in := <-inbox:
		r.fed = true
		return r.take(in)
	case <-r.ctx.Done():
		return context.Cause(r.ctx)
	case peer := <-r.opened: // the neighbor may lack the last release
		r.reached(peer)
		return nil
	default:
		r.fed = false
		return r.answer(queries)
	}
}

// wait takes the next frame, serves a neighbor with a new connection, or reports a tick.
func (r *run) wait(tick <-chan time.Time) (ticked bool, err error) {
	select {
	case in := <-r.inbox:
		return false, r.take(in)
	case <-r.ctx.Done():
		return false, context.Cause(r.ctx)
	case peer := <-r.opened:
		r.reached(peer)
		return false, nil
	case <-tick:
		return true, nil
	}
}

// rest waits for a frame, a new connection or a tick. over is true once the model has been final for at least
// Config.Linger.
func (r *run) rest() (over bool, err error) {
	if ticked, err := r.wait(r.pace.timer.C); err != nil || !ticked {
		return false, err // a frame alone is no progress: it may be a repeat
	}
	complete := r.machine.Status().Complete
	if !r.pace.moved {
		r.machine.Tick()
		r.showAgain()
		r.reportWaiting()
	}
	r.pace.ticked(complete) // keep ticking once the model is final, because the node exits at a tick
	if complete && r.final.IsZero() {
		r.final = time.Now()
	}
	if r.final.IsZero() || time.Since(r.final) < r.cfg.Linger {
		return false, nil
	}
	r.log.Warn("exiting before every neighbor confirmed completion", "after", r.cfg.Linger)
	return true, nil
}

// showAgain repeats evidence, and allows the node to send again what it sends at most once between two ticks.
func (r *run) showAgain() {
	r.rememberHeads()
	r.keep()
	r.post(r.trust.Tick())
}

// reportWaiting reports once per round, which neighbors the node is waiting for.
func (r *run) reportWaiting() {
	st, report := r.Status(), r.cfg.Events.Waiting
	if report != nil && len(st.Waiting) > 0 && r.waiting != st.Round+1 {
		r.waiting = st.Round + 1
		report(st.Round, st.Waiting)
	}
}
