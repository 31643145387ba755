package sdk

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/sdk/wire"
)

// gather asks for what is missing, sends neighbors what they lack, and reports whether all is there.
func (c *recovery) gather() (ready bool, err error) {
	k := c.newest
	ready = true
	lacks := false // somebody lacks the release before the newest
	for _, w := range c.peers {
		for _, p := range c.wanted(w) {
			if _, there := w.parts[p]; !there {
				ready = false
				c.ask(w, p)
			}
		}
		lacks = lacks || w.round == k-1 && k > 1 && !w.parts[part{wire.Sent, k - 1}].there()
	}
	if !ready {
		return false, nil
	}
	newest, err := c.sent(k)
	if err != nil {
		return false, err
	}
	var before piece
	if lacks {
		if before, err = c.sent(k - 1); err != nil {
			return false, err
		}
	}
	for _, w := range c.peers {
		if w.round < k {
			ready = false
		}
		if w.round == k-1 && k > 1 && !w.parts[part{wire.Sent, k - 1}].there() {
			if err := c.push(w, k-1, before); err != nil {
				return false, err
			}
		}
		if w.round <= k && !w.parts[part{wire.Sent, k}].there() {
			ready = false
			if err := c.push(w, k, newest); err != nil {
				return false, err
			}
		}
	}
	return ready, nil
}

// wanted lists what a neighbor is to tell.
func (c *recovery) wanted(w *witness) []part {
	k := c.newest
	want := []part{{wire.Sent, k}}
	if w.round >= k {
		want = append(want, part{wire.AskerZ, k}, part{wire.TellerZ, k})
		if c.grid {
			want = append(want, part{wire.AskerAt, k}, part{wire.TellerAt, k})
		}
	}
	if w.round == k+1 && c.onGrid(k) {
		want = append(want, part{wire.AskerAt, k + 1})
	}
	if k > 1 && c.behind() && w.round <= k {
		want = append(want, part{wire.Sent, k - 1})
		if c.onGrid(k - 1) {
			want = append(want, part{wire.AskerAt, k - 1})
		}
	}
	return want
}

// behind reports whether a neighbor has not come to its own release of the newest round.
func (c *recovery) behind() bool {
	return slices.ContainsFunc(c.peers, func(w *witness) bool { return w.round < c.newest })
}

func (c *recovery) onGrid(round int) bool { return c.grid && round <= c.cfg.Fleet.Method.Rounds }

// sent returns a release of the lost device as it was sent, and signed.
func (c *recovery) sent(round int) (piece, error) {
	p, err := c.assemble(round)
	if err != nil || !c.claims.signing() {
		return p, err
	}
	shown, ok := c.proofs[round]
	if !ok {
		return piece{}, fmt.Errorf("release %d of %q has been told by neighbors, and none of them shows its signature", round, c.cfg.Name)
	}
	if digestOf(p.vector, p.grid) != shown.Digest {
		return piece{}, fmt.Errorf("release %d of %q as neighbors tell it is not the one that was signed (they are %s)", round, c.cfg.Name, c.names())
	}
	return p, nil
}

// assemble returns a release of the lost device as somebody holds it, or as the way between two places on the grid.
func (c *recovery) assemble(round int) (piece, error) {
	found, err := c.same(part{wire.Sent, round}, fmt.Sprintf("release %d of %q", round, c.cfg.Name))
	if err != nil {
		return piece{}, err
	}
	if found.there() && (len(found.grid) > 0) != c.onGrid(round) {
		return piece{}, fmt.Errorf("release %d of %q is told with the wrong kind of numbers", round, c.cfg.Name)
	}
	if !c.onGrid(round) {
		if !found.there() {
			return piece{}, c.gone(round)
		}
		return found, nil
	}
	place := func(round int) (piece, error) {
		return c.same(part{wire.AskerAt, round}, fmt.Sprintf("the place of release %d of %q", round-1, c.cfg.Name))
	}
	before, err := place(round)
	if err != nil {
		return piece{}, err
	}
	after, err := place(round + 1)
	if err != nil {
		return piece{}, err
	}
	if !before.there() || !after.there() {
		if !found.there() {
			return piece{}, c.gone(round)
		}
		return found, nil
	}
	moved := piece{grid: difference(after.grid, before.grid)}
	if found.there() && !found.equal(moved) {
		return piece{}, fmt.Errorf("neighbors disagree about release %d of %q: what some hold does not lead from where others say that it began to where it ended (they are %s)",
			round, c.cfg.Name, c.names())
	}
	return moved, nil
}

var errGone = errors.New("a release is gone")

// gone is the end: a release has been seen, and nobody can give it back; or one before it, that somebody still needs.
func (c *recovery) gone(round int) error {
	if round < c.newest {
		return fmt.Errorf("%s release %d of %q, and no neighbor has release %d, without which some cannot go on: it never arrived anywhere, or whoever had it was started again; start the fleet anew under another run id",
			c.holders(), c.newest, c.cfg.Name, round)
	}
	if m := c.cfg.Fleet.Method; round == m.Rounds+m.Cooldown {
		return fmt.Errorf("%w: release %d of %q was the last one, for %s it, and no neighbor can give it back any more, having been started again since: the run is over, and a neighbor's final model is as good as the one that is lost",
			errGone, round, c.cfg.Name, c.holders())
	}
	return fmt.Errorf("%w: release %d of %q has been seen, for %s release %d, and no neighbor can give it back any more, having been started again since: the run cannot go on without it; start the fleet anew under another run id",
		errGone, round, c.cfg.Name, c.holders(), c.newest)
}

func (c *recovery) names() string {
	var names []string
	for _, w := range c.peers {
		names = append(names, fmt.Sprintf("%q", w.name))
	}
	return strings.Join(names, ", ")
}

// same returns what the neighbors say of a thing that several of them know. They must agree.
func (c *recovery) same(p part, what string) (piece, error) {
	var found piece
	var by string
	for _, w := range c.peers {
		switch told := w.parts[p]; {
		case !told.there():
		case !found.there():
			found, by = told, w.name
		case !told.equal(found):
			return piece{}, fmt.Errorf("%q and %q disagree about %s: one of them is wrong, or something else has spoken in its name", by, w.name, what)
		}
	}
	return found, nil
}

// push sends a neighbor a release that it lacks, as the lost device has sent it to others.
func (c *recovery) push(w *witness, round int, p piece) error {
	key := part{wire.Sent, -round} // no question has a negative round
	if w.asked[key] {
		return nil
	}
	w.asked[key] = true
	f := wire.Frame{Kind: wire.Release, Round: round, Resent: true, Vector: p.vector, Grid: p.grid}
	if shown, ok := c.proofs[round]; ok {
		f.Own = shown.Append(nil)
	}
	frame, err := c.codec.Append(nil, &f)
	if err != nil {
		return err
	}
	c.post(w.number, frame)
	return nil
}

// state puts the lost state together.
func (c *recovery) state() (admm.State, error) {
	k := c.newest
	s := admm.State{Round: k, Recovered: k}
	if c.recovery.Estimator.Centered {
		s.Last = make([]float32, c.cfg.Samples)
	}
	sent, err := c.sent(k)
	if err != nil {
		return s, err
	}
	if c.grid {
		at, err := c.same(part{wire.AskerAt, k}, fmt.Sprintf("the place of release %d of %q", k-1, c.cfg.Name))
		if err != nil {
			return s, err
		}
		s.Grid = slices.Clone(at.grid)
	}
	if c.onGrid(k) {
		s.Delta = sent.grid
		s.X = make([]float32, c.cfg.Fleet.Dim)
		for i, n := range s.Delta {
			s.Grid[i] += n
			s.X[i] = float32(float64(s.Grid[i]) * c.recovery.GridStep)
		}
	} else {
		s.X = sent.vector
	}
	if c.cfg.Average {
		s.Mean = slices.Clone(s.X)
	}
	for _, w := range c.peers {
		s.Edges = append(s.Edges, admm.EdgeState{
			Peer: w.number, Heard: w.round,
			Z: w.parts[part{wire.AskerZ, k}].vector, PeerZ: w.parts[part{wire.TellerZ, k}].vector,
			Base: w.parts[part{wire.TellerAt, k}].grid,
		})
	}
	return s, nil
}

// commit makes what has come together the state of the node: it charges what neighbors have seen, and keeps it.
func (c *recovery) commit() error {
	n, cfg := c.Node, *c.recovery
	device := 0
	for _, w := range c.peers {
		device = max(device, w.device)
	}
	if device++; device > wire.MaxDevice {
		return fmt.Errorf("sdk: %w: neighbors have seen %d devices of this name", ErrRecovery, device)
	}
	cfg.Device = uint16(device)
	// Two releases may have been sent and not received, which are made anew without data, and one more reserved and not sent.
	if err := dpmech.CheckResume(c.newest+2, n.reserved, n.marked); err != nil {
		return fmt.Errorf("sdk: %w: the ledger has release %d of this run, and neighbors know of no more than %d: they were set back, or are wrong (%w)", ErrRecovery, n.reserved, c.held, err)
	}
	var m *admm.Machine
	var err error
	if c.newest == 0 {
		m, err = admm.New(cfg)
	} else {
		var state admm.State
		if state, err = c.state(); err == nil {
			err = c.complete()
		}
		if err == nil {
			m, err = admm.Restore(cfg, state, nil)
		}
	}
	if err != nil {
		return fmt.Errorf("sdk: %w: %w", ErrRecovery, err)
	}
	if n.filter != nil {
		for round := 1; round <= min(c.held, c.cfg.Fleet.Method.Rounds); round++ {
			if err := n.reserve(round); err != nil {
				return err
			}
			n.reserved = max(n.reserved, round)
		}
		if err := n.mark(c.held); err != nil { // it has been seen, whatever becomes of this device
			return err
		}
		n.marked = max(n.marked, c.held)
	}
	n.machine, n.device, n.recovered, n.recovery = m, device, c.newest, nil
	if shown, ok := c.proofs[c.newest]; ok {
		n.claims.own = []signed.Release{shown} // the new device signs it again, as the first link of its own chain
	}
	if c.newest == 0 && n.claims.signing() { // nothing is kept, and the device has to be told from the one before
		if err := n.claims.sign(&admm.State{X: n.machine.Model()}, device, n.cfg.Ledger); err != nil {
			return err
		}
		n.disclose()
	}
	if c.newest > 0 {
		if err := n.keep(); err != nil {
			return n.fatal(err)
		}
	}
	n.publish()
	n.log.Warn("recovered what the lost device has released; from here on this device goes on in its place", "release", c.newest, "device", device)
	return nil
}

// complete names the neighbors that do not have what only they can know.
func (c *recovery) complete() error {
	var errs []error
	for _, w := range c.peers {
		for _, p := range c.wanted(w) {
			if p.part != wire.Sent && p.round == c.newest && !w.parts[p].there() {
				errs = append(errs, fmt.Errorf("%q has no state of its own release %d any more, or keeps none: with it went what only it knew of the edge", w.name, c.newest))
				break
			}
		}
	}
	return errors.Join(errs...)
}
