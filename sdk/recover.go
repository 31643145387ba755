package sdk

import (
	"errors"
	"fmt"
	"time"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/recovery"
	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/sdk/wire"
)

// ErrRecovery says that the state of the lost device cannot be had from its neighbors, see [Config].Recover. Nothing
// was stored, and the same node may try again.
var ErrRecovery = recovery.ErrFailed

// ErrRecoverAnew says that the state which a recovery has kept leads no further: it does not fit what neighbors have,
// for another device in this one's place was faster, or what they told was wrong. All that was released is charged. A
// node with an empty [Config].Store may recover once more.
var ErrRecoverAnew = errors.New("the state that was recovered leads no further: it can be given up, and recovered anew")

// leadsNowhere marks an error of a state that a recovery has just put together.
func leadsNowhere(err error, round, recovered int) error {
	if err != nil && recovered > 0 && round == recovered {
		return fmt.Errorf("%w; %w", err, ErrRecoverAnew)
	}
	return err
}

// recover gets the node's state back from its neighbors, and stores it.
func (r *run) recover() error {
	cfg := recovery.Config{Name: r.cfg.Name, Machine: *r.toRecover, Incarnation: newIncarnation(), Send: r.post}
	for _, j := range r.neighbors {
		cfg.Names = append(cfg.Names, r.cfg.Fleet.Members[j])
	}
	if r.claims.signing() {
		cfg.Claims = r.claims
	}
	r.recovery = recovery.New(cfg)
	defer func() { r.recovery = nil }()
	r.stopEarly()
	for j := range r.cases.of {
		r.recovery.Without(j)
	}
	r.log.Info("asking the neighbors for the state of the lost device")
	tick := time.NewTicker(r.cfg.ResendAfter)
	defer tick.Stop()
	missing := ""
	for {
		done, err := r.recovery.Step()
		switch {
		case errors.Is(err, recovery.ErrConflict):
			return r.fatal(fmt.Errorf("sdk: %w: %w", err, ErrClone))
		case err != nil:
			return fmt.Errorf("sdk: %w", err)
		case done:
			return r.takeOver()
		}
		ticked, err := r.wait(tick.C)
		if ticked {
			waiting, text := r.recovery.Tick()
			r.mu.Lock()
			r.status.Waiting = waiting
			r.mu.Unlock()
			if text != missing && text != "" {
				r.log.Info("recovering", "waiting", text)
				if r.cfg.Observer.Waiting != nil {
					r.cfg.Observer.Waiting(0, waiting)
				}
			}
			missing = text
		}
		if err != nil {
			return err
		}
	}
}

// takeOver makes what has come together the state of the node: it charges what neighbors have seen, and stores it.
func (r *run) takeOver() error {
	n, cfg := r.Node, *r.toRecover
	result, err := r.recovery.Result()
	if err != nil {
		return fmt.Errorf("sdk: %w", err)
	}
	newest := 0
	if result.State != nil {
		newest = result.State.Round
	}
	// Two releases may have been sent and not received, which are made anew without data, and one more reserved and not
	// sent.
	if err := dpmech.CheckResume(cfg.Data(newest+2), n.reserved, n.marked); err != nil {
		return fmt.Errorf("sdk: %w: the ledger has release %d of this run, and neighbors know of no more than %d: they were "+
			"set back, or are wrong (%w)", ErrRecovery, n.reserved, result.Held, err)
	}
	cfg.Generation = result.Generation
	var m *admm.Machine
	if result.State == nil {
		m, err = admm.New(cfg)
	} else {
		m, err = admm.Restore(cfg, *result.State, nil)
	}
	if err != nil {
		return fmt.Errorf("sdk: %w: %w", ErrRecovery, err)
	}
	if n.filter != nil {
		for round := 1; round <= cfg.Data(result.Held); round++ {
			if err := n.reserve(round); err != nil {
				return err
			}
			n.reserved = max(n.reserved, round)
		}
		if err := n.mark(result.Held); err != nil { // it has been seen, whatever becomes of this device
			return err
		}
		n.marked = max(n.marked, cfg.Data(result.Held))
	}
	n.machine, n.generation, n.recovered, n.toRecover = m, result.Generation, newest, nil
	for j := range n.cases.of {
		n.machine.Quarantine(j)
	}
	for j, q := range r.absent {
		r.quarantine(j, q)
	}
	n.tookOver = true
	if result.Signed != nil {
		n.claims.own = signed.Chain{*result.Signed} // the new device signs it again, as the first link of its own chain
	}
	if err := n.newSecrets(newest + 3); err != nil {
		return n.fatal(err)
	}
	if newest > 0 {
		if err := n.record(); err != nil {
			return n.fatal(err)
		}
	} else if n.claims.signing() { // nothing is stored, and the device has to be told from the one before
		if err := n.claims.sign(&admm.State{X: n.machine.Model()}, n.generation, n.cfg.Ledger); err != nil {
			return err
		}
		n.disclose()
	}
	n.publish()
	n.mu.Lock()
	n.stops.blind = false
	n.stops.fresh = true // the machine is another
	n.mu.Unlock()
	n.log.Warn("recovered what the lost device has released; from here on this device goes on in its place",
		"release", newest, "generation", n.generation)
	return nil
}

// respond answers a neighbor that has lost its state.
func (r *run) respond(request *admm.Message, name string) error {
	if _, known := r.outbox[request.From]; !known {
		return errors.New("sdk: the sender asks for its state and is no neighbor")
	}
	if !r.releases {
		return fmt.Errorf("sdk: the sender asks for its state, and the fleet's payload is not %q", PayloadRelease)
	}
	peer := r.claims.peers[request.From]
	peer.recovering = request.Incarnation != peer.recovered // the frame may be late
	if peer.request != request.Incarnation {
		peer.request = request.Incarnation
		if r.recovery != nil {
			r.log.Error("a neighbor has lost its state as well: what only the two of them knew is lost, and neither can "+
				"recover it", "neighbor", name)
		} else {
			r.log.Warn("a neighbor has lost its state and asks for what is known of it here", "neighbor", name)
		}
	}
	if r.recovery != nil {
		return nil
	}
	response := recovery.Respond(request, recovery.Node{
		Machine: r.machine, Own: r.claims.own, Held: r.claims.peers[request.From].held,
		Stored: func(round int) (admm.State, bool) { return r.stored(round, name) },
	})
	r.attachStops(response)
	return r.post(request.From, response)
}

// stored returns the state that was stored with a release, if the store has it still, for a neighbor that asks.
func (r *run) stored(round int, name string) (admm.State, bool) {
	if r.past == nil && r.cfg.Store != nil {
		var err error
		if r.past, err = r.load(); err != nil {
			r.log.Error("a neighbor cannot be told what it has lost", "neighbor", name, "err", err)
			return admm.State{}, false
		}
	}
	for i := range r.past {
		if r.past[i].State.Round == round {
			return r.past[i].State, true
		}
	}
	return admm.State{}, false
}

// load returns the snapshots that the store holds, the newest first.
func (n *Node) load() ([]wire.Snapshot, error) {
	if n.cfg.Store == nil {
		return nil, nil
	}
	saved, err := n.cfg.Store.Load()
	if err != nil {
		return nil, err
	}
	list := make([]wire.Snapshot, len(saved))
	for i, s := range saved {
		snap := &list[i]
		err := wire.DecodeSnapshot(s.State, snap)
		if err == nil {
			err = checkOwn(n.hash, n.cfg.Name, snap.Fleet, snap.Member, snap.Build)
		}
		if err == nil && snap.State.Round != s.Round {
			err = fmt.Errorf("it is of release %d, want %d", snap.State.Round, s.Round)
		}
		if err != nil {
			return nil, fmt.Errorf("sdk: stored state of release %d: %w", s.Round, err)
		}
		for k, p := range snap.Peers {
			number, known := n.number[p.Name]
			if !known {
				number = -1
			}
			snap.State.Edges[k].Peer = number
		}
	}
	return list, nil
}
