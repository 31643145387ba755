package sdk

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/sdk/trust"
)

// Takeover; see [Config].Recover. The replacement device asks every neighbor for its progress and its model (Join,
// Stand). It enters the run after a release that no neighbor has passed, and restarts the edge to each neighbor
// (Start); see [admm.TakeOver]. In a private run it makes no release with data and charges the whole run at once, which
// covers all releases of the lost device.

// ErrRecovery reports that a takeover failed. The device may try again.
var ErrRecovery = errors.New("the lost device cannot be replaced")

// joining holds the answers to a takeover. Only the goroutine of Run may use it.
type joining struct {
	incarnation uint64               // distinguishes the answers to this takeover from answers to earlier ones
	standing    map[int]admm.Message // the valid answers by neighbor
	epoch       uint16               // the latest epoch that a neighbor showed
	faults      map[int]error        // by neighbor: why its last answer does not count
	absent      map[int]state.Quarantine
}

func (r *run) recover() error {
	r.joining = &joining{incarnation: signed.NewIncarnation(), standing: map[int]admm.Message{}, faults: map[int]error{},
		absent: map[int]state.Quarantine{}}
	defer func() { r.joining = nil }()
	for j, q := range r.cases {
		r.joining.absent[j] = *q
	}
	for _, name := range r.cfg.Without {
		if j := r.number[name]; slices.Contains(r.neighbors, j) {
			r.joining.absent[j] = state.Quarantine{Why: toldToGoOn}
		}
	}
	r.stopEarly()
	r.log.Info("asking the neighbors for their progress, to replace the lost device")
	tick := time.NewTicker(r.cfg.ResendAfter)
	defer tick.Stop()
	said := ""
	for r.join(r.neighbors...); ; {
		waiting, text := r.awaited()
		switch {
		case len(r.joining.absent) == len(r.neighbors):
			return fmt.Errorf("sdk: %w: %w", ErrRecovery, ErrQuarantine)
		case len(waiting) == 0:
			return r.takeOver()
		}
		ticked, err := r.wait(tick.C)
		if err != nil {
			return err
		}
		if !ticked {
			continue
		}
		r.join(r.neighbors...)
		r.mu.Lock()
		r.status.Waiting = waiting
		r.mu.Unlock()
		if text != said {
			said = text
			r.log.Info("taking over", "waiting", text)
			if r.cfg.Observer.Waiting != nil {
				r.cfg.Observer.Waiting(0, waiting)
			}
		}
	}
}

// join asks neighbors for their progress and models. It asks even neighbors that have answered, so that they keep
// waiting for this device.
func (r *run) join(neighbors ...int) {
	for _, j := range neighbors {
		if _, absent := r.joining.absent[j]; !absent {
			_ = r.post(j, &admm.Message{Kind: admm.Join, Incarnation: r.joining.incarnation}) // always within limits
		}
	}
}

// awaited returns the neighbors that have not sent a valid answer, and a text with the reasons.
func (r *run) awaited() (names []string, text string) {
	var all []string
	for _, j := range r.neighbors {
		name := r.cfg.Fleet.Members[j]
		_, heard := r.joining.standing[j]
		if _, absent := r.joining.absent[j]; heard || absent {
			continue
		}
		text := fmt.Sprintf("%q has not answered", name)
		if fault := r.joining.faults[j]; fault != nil {
			text = fmt.Sprintf("%q sent an invalid answer: %v", name, fault)
		}
		names, all = append(names, name), append(all, text)
	}
	return names, strings.Join(all, "; ")
}

// receiveStanding handles a neighbor's answer. With keys, the answer must have signatures by both the neighbor and the
// lost device.
func (r *run) receiveStanding(m *admm.Message) error {
	peer := r.claims.Peers[m.From]
	if m.Kind != admm.Stand || m.Incarnation != r.joining.incarnation {
		return nil // not an answer to this takeover; the neighbor will answer again
	}
	err := r.machine.CheckStanding(m)
	if err == nil && r.claims.Signing() {
		err = r.claims.Standing(peer, m)
	}
	r.joining.faults[m.From] = err
	if err != nil {
		return err
	}
	if r.claims.Signing() {
		if err := r.checkLedgers(peer.Name, m); err != nil {
			return err
		}
	}
	r.joining.epoch = max(r.joining.epoch, m.Epoch)
	r.joining.standing[m.From] = admm.Message{Round: m.Round, Held: m.Held, Vector: slices.Clone(m.Vector), Grid: slices.Clone(m.Grid)}
	return nil
}

// takeOver puts this device in the place of the lost device: it charges the run and stores the starting point.
func (r *run) takeOver() error {
	n, cfg := r.Node, *r.toRecover
	cfg.Epoch = r.joining.epoch + 1
	if r.joining.epoch >= admm.MaxTakeovers {
		return fmt.Errorf("sdk: %w: %d devices of %q were already replaced in this run (the maximum); the member can "+
			"take part in the next run", ErrRecovery, r.joining.epoch, n.cfg.Name)
	}
	var list []admm.Message
	for _, j := range r.neighbors {
		if s, heard := r.joining.standing[j]; heard {
			list = append(list, s)
		}
	}
	m, err := admm.TakeOver(cfg, list)
	if err != nil {
		return fmt.Errorf("sdk: %w: %w", ErrRecovery, err)
	}
	if err := n.account.chargeAll(); err != nil {
		return err
	}
	n.mu.Lock()
	n.machine, n.claims.Epoch, n.status.Recovered = m, cfg.Epoch, m.Status().Round
	n.mu.Unlock()
	if err := n.newSecrets(m.Status().Round + 1); err != nil {
		return n.fatal(err)
	}
	if err := n.record(); err != nil {
		return n.fatal(err)
	}
	for _, j := range r.neighbors {
		q, absent := r.joining.absent[j]
		switch {
		case r.cases[j] != nil:
			n.machine.Quarantine(j)
		case absent:
			r.quarantine(j, q)
		}
	}
	n.publish()
	n.mu.Lock()
	n.toRecover, n.stops.fresh = nil, true // the new machine does not know the stops
	n.mu.Unlock()
	n.log.Warn("this device has replaced the lost device", "after_release", m.Status().Round, "device", cfg.Epoch+1,
		"data", n.cfg.Fleet.Privacy.NonPrivate)
	return nil
}

// respond answers a device that is replacing a neighbor's lost device.
func (r *run) respond(request *admm.Message, name string) error {
	switch {
	case r.cfg.Fleet.wire().Payload != PayloadRelease:
		return fmt.Errorf("sdk: the sender asks to replace a device, but only a fleet with payload %q "+
			"supports replacement devices", PayloadRelease)
	case r.joining != nil:
		return nil // the device asks again
	}
	peer := r.claims.Peers[request.From]
	if peer.Request != request.Incarnation {
		peer.Request = request.Incarnation
		r.log.Warn("another device asks to replace a neighbor's lost device", "neighbor", name)
	}
	m := r.machine.Standing(request.From)
	m.Incarnation = request.Incarnation
	m.Signed = admm.Signed{Own: trust.Encoded(r.claims.Own.Last()), Proof: trust.Encoded(peer.Held.Last())}
	if r.claims.Signing() {
		m.Signed.Other, _ = r.claims.Earlier(peer) // the device's ledger may be lost too
	}
	if shown := peer.Held.Last(); shown != nil { // claim only what this node can prove
		m.Held, m.Epoch = max(m.Held, shown.Round), shown.Epoch
	}
	r.attachStops(&m)
	return r.post(request.From, &m)
}
