package sdk

import (
	"context"
	"errors"
	"time"

	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/trust"
)

// Run executes the rounds until the model is final and no neighbor needs more messages. If ctx ends first, Run can be
// called again. An oracle error ends a run that is not private; in a private run a constant replaces the loss.
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
	err = r.loop()
	over = true
	return err
}

// fatal stores and returns an error after which the machine must not be called again. If the error reports a rollback,
// fatal also charges the lost releases.
func (n *Node) fatal(err error) error {
	if rolledBack := (*admm.RollbackError)(nil); errors.As(err, &rolledBack) {
		err = n.chargeLost(rolledBack)
	}
	n.failed = err
	return err
}

func (r *run) loop() error {
	r.interval, r.moved = r.cfg.ResendAfter, true
	r.tick = time.NewTimer(r.interval)
	defer r.tick.Stop()
	r.giveUp()
	again := r.status.Done
	for {
		if r.moved && r.interval > r.cfg.ResendAfter {
			r.interval = r.cfg.ResendAfter
			r.tick.Reset(r.interval)
		}
		if r.machine.Alone() && !r.status.Done {
			return r.alone()
		}
		duties, err := r.machine.Ready()
		r.judged()
		if r.machine.Alone() && duties.Reserve > 0 { // do not charge for a release that would reach nobody
			continue
		}
		if err == nil {
			err = r.perform(duties)
		}
		if err != nil {
			return r.fatal(err)
		}
		switch {
		case duties.Finished:
			if again && len(r.cases) > 0 { // a neighbor may not know of its quarantine
				return r.serveOutsiders(min(2*r.cfg.ResendAfter, r.cfg.Linger))
			}
			return nil
		case duties.Reserve > 0:
			continue
		case duties.Released > 0:
			r.moved, r.idle = true, 0
			continue
		case len(duties.Queries) > 0:
			r.moved, r.idle = true, 0
			err = r.work(duties.Queries)
		default:
			var over bool
			if over, err = r.rest(); over {
				return nil
			}
		}
		if err != nil {
			return err
		}
	}
}

// perform carries out the machine's duties, except queries. It charges a release before the release is made, then
// stores the release and marks it as possibly sent, and only then shows and sends it.
func (r *run) perform(duties admm.Ready) error {
	var err error
	if duties.Reserve > 0 {
		if err = r.bindPair(); err == nil {
			err = r.account.reserve(duties.Reserve)
		}
	}
	if err == nil && duties.Released > 0 {
		if err = r.record(); err == nil && r.shared != nil && r.quiet(duties.Released) {
			err = r.deletePair()
		}
	}
	if err != nil {
		return err
	}
	if !r.remembered && duties.Released > 1 { // every neighbor has made a release
		r.remembered = true
		r.rememberHeads()
	}
	if out := r.machine.Outgrown(); out > 0 && !r.outgrown && duties.Released > 0 {
		r.outgrown = true
		r.log.Warn("the model was clipped to the public bound around the start vector: the model has diverged (use a smaller "+
			"eta), or a neighbor pushes it away", "release", out)
	}
	r.publish()
	if duties.Released > 0 && r.cfg.Observer.Released != nil {
		r.cfg.Observer.Released(duties.Released, r.machine.Model())
	}
	return r.send(duties.Send)
}

// deliver decodes and checks a frame, and passes it to the machine.
func (r *run) deliver(in received) error {
	from, member := r.number[in.from]
	if !member || r.claims.Peers[from] == nil {
		return errors.New("sdk: the sender is not a neighbor")
	}
	m := &r.message
	if err := r.codec.Decode(in.frame, m); err != nil {
		return err
	}
	m.From = from
	switch {
	case r.cases[from] != nil:
		return r.outside(m)
	case trust.IsNotice(m):
		return r.takeNotice(m, in.frame)
	}
	if err := r.check(m); err != nil || m.Kind == admm.Conflict {
		return err
	}
	r.query(m)
	return r.machine.Receive(*m)
}
