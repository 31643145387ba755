package sdk

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/sdk/wire"
	"github.com/spade-dfl/spade-edge/transport"
)

// ErrRecovery is what an error of Run wraps, with Config.Recover, that says: the state of the lost device cannot be had from
// its neighbors. Nothing was kept, and the same node may try again.
//
// What the neighbors know. In a fleet with payload "release" both ends of an edge keep both z of it, and each neighbor has what was
// sent to it. The newest release that any of them holds, r, is the one that the new device goes on from. A neighbor has then
// made r-1, r or r+1 releases itself. Its z may have gone on to what comes after r, but the state that it kept with its own release
// r has the z from before, the place of release r-1 on the grid, and its own: that is what is asked for. One that has not come to
// its own release r is sent what it lacks of r-1 and r, as the lost device would have, and waited for; so when the new device
// begins, every neighbor holds r. The state is put together, charged (every release that a neighbor has seen, to
// the run and to the ledger) and kept, in one save; before that nothing is, so that a recovery that is broken off has not
// happened, and may begin again. If no neighbor holds a release, the run begins at its start.
//
// No second look. The lost device may have been further than its neighbors know: releases may have been on their way, or have been
// received and forgotten in a restart. But it cannot have made release r+3, since for that it needed what every neighbor
// releases in round r+2, which needs its own of r+1. So the new device makes its releases r+1 and r+2 without its data: the update is zero,
// noise and price are what they always are. Whatever the lost device has made and whoever has seen it, no round looks at the
// data twice, and the count of rounds is the right one.
//
// What has to agree. All neighbors must answer, and once more when all is there. What they say of the same release, and
// of its place on the grid, must be the same to the bit, and how far they have come must be possible.
//
// What is proved. In a fleet with keys (Config.Key) a neighbor shows the lost device's signature of the newest release that it says it
// has held and of each release that it tells, and its own signature of its number of releases. A release whose digest was not signed
// is refused. So no neighbor can make up a release of the lost device, or have the new one charged for it. If two
// releases of one round are signed, the lost device had a double, and the recovery ends with an error that wraps [ErrClone] as well.
//
// What is taken on trust. Both z of an edge and places on the grid are not signed, and only the two ends of the edge know them. A lie there
// spoils the model, as a false release of the liar's own would. A neighbor can hide releases that it has held. For the privacy
// guarantee it takes one neighbor that is honest about how many releases it has made itself. In a fleet without keys releases are
// believed too: a neighbor that lies about one is found out only if an honest one holds the same release, and a lie upwards costs budget.
//
// What is lost for good. A neighbor that was restarted, as by the power cut that has burnt the device, has forgotten what it had
// received and not yet used. If it knows that it had release r, nobody has that any more, and no neighbor's own release rests on
// it, then the new device goes on from r-1; r is charged all the same. The recovery is refused if a
// neighbor has used r and nobody can tell it any more, which happens with releases off the grid, and if release r-1 is still needed
// and no neighbor ever received it. The running mean of releases begins anew with r, and so do the baselines of the centered estimator,
// with 0: the models are others than those of a run in which nothing was lost, and as good.
//
// The lost device must not come back. Retire its key first: move it to the member's retired keys, so that it cannot connect, and its
// signatures still count. If its key still connects and it is started again on its old state, each neighbor that remembers its successor
// (it has made a release since, or not been restarted) shows it what the successor has signed, and it ends with [state.ErrRollback]. One that was
// never switched off, as behind a network that was cut, is shown the same when the way to a neighbor opens, and when it sends a release;
// what it makes until it hears that, neighbors have seen. Without keys it cannot be told from its successor.
var ErrRecovery = errors.New("the state cannot be recovered")

// recovery is what a node without a state has heard from its neighbors.
type recovery struct {
	*run
	life    uint64
	peers   []*witness // in the order of the neighbors' numbers
	grid    bool       // the run's releases lie on a grid
	agreed  bool       // all is there, and the neighbors are asked once more how far they are
	held    int        // the last release of the lost device that a neighbor has held; valid once all have said how far they are
	newest  int        // the one to go on from: held, or the one before if nobody has that any more
	given   int        // a release that nobody has any more and that is given up; 0 for none
	missing string     // what was last reported to be missing
	doubted bool       // an answer could not be right, and all have been asked anew

	proofs map[int]signed.Release // by round: what the lost device has signed, of its latest generation
}

// witness is a neighbor, and what it has told.
type witness struct {
	number int
	name   string
	heard  bool  // it has said how far it is, since it was last asked to
	round  int   // how many releases it has made
	held   int   // the last release of the lost device that it has held
	device int   // the latest device of this node's name that it has heard of
	fault  error // why its last answer does not count, or nil
	parts  map[part]piece
	asked  map[part]bool // since the last tick
}

// part names something that a neighbor can be asked for.
type part struct {
	part  wire.Part
	round int
}

// piece is an answer. Both are nil if the neighbor does not have it.
type piece struct {
	vector []float32
	grid   []int32
}

func (p piece) there() bool { return len(p.vector)+len(p.grid) > 0 }

func (p piece) equal(q piece) bool {
	return slices.Equal(p.grid, q.grid) && slices.EqualFunc(p.vector, q.vector, func(a, b float32) bool {
		return math.Float32bits(a) == math.Float32bits(b)
	})
}

// recover gets the node's state back from its neighbors, and keeps it.
func (r *run) recover() error {
	var life [8]byte
	if _, err := rand.Read(life[:]); err != nil { // never, see crypto/rand
		return fmt.Errorf("sdk: %w", err)
	}
	rec := &recovery{run: r, proofs: map[int]signed.Release{}, life: binary.LittleEndian.Uint64(life[:]) & lifeMask, grid: r.recovery.GridStep != 0}
	for _, j := range r.neighbors {
		rec.peers = append(rec.peers, &witness{number: j, name: r.cfg.Fleet.Members[j], parts: map[part]piece{}, asked: map[part]bool{}})
	}
	r.log.Info("asking the neighbors for the state of the lost device")
	tick := time.NewTicker(r.cfg.ResendAfter)
	defer tick.Stop()
	var opened <-chan string
	if t, ok := r.cfg.Transport.(transport.Notifier); ok {
		opened = t.Opened()
	}
	for {
		done, err := rec.step()
		if err != nil && !rec.doubted { // a frame of the lost device may have come in between two answers
			rec.doubt()
			continue
		}
		if err != nil {
			return fmt.Errorf("sdk: %w: %w", ErrRecovery, err)
		}
		if done {
			return rec.commit()
		}
		select {
		case in := <-r.inbox:
			err = r.takeBy(in, rec.deliver)
		case <-r.ctx.Done():
			err = context.Cause(r.ctx)
		case name := <-opened:
			for _, w := range rec.peers {
				if w.name == name {
					clear(w.asked)
				}
			}
		case <-tick.C:
			rec.tick()
		}
		if err != nil {
			return err
		}
	}
}

// doubt forgets all answers.
func (c *recovery) doubt() {
	c.doubted, c.agreed = true, false
	for _, w := range c.peers {
		w.heard = false
		clear(w.parts)
		clear(w.asked)
	}
}

// tick makes everything be asked again that may have got lost, or may have changed.
func (c *recovery) tick() {
	var silent, all []string
	for _, w := range c.peers {
		clear(w.asked)
		for p, found := range w.parts {
			if p.part == wire.Sent && !found.there() {
				delete(w.parts, p) // it may have arrived by now
			}
		}
		switch {
		case !w.heard:
			silent = append(silent, w.name)
			if w.fault != nil {
				all = append(all, fmt.Sprintf("%q gives no answer that counts: %v", w.name, w.fault))
				break
			}
			all = append(all, fmt.Sprintf("%q has not answered", w.name))
		case w.round < c.newest:
			silent = append(silent, w.name)
			all = append(all, fmt.Sprintf("%q has made release %d of its own, and not yet %d", w.name, w.round, c.newest))
		}
		if w.round < c.newest || !c.agreed {
			c.ask(w, part{wire.Standing, 0})
		}
	}
	c.mu.Lock()
	c.status.Waiting = silent
	c.mu.Unlock()
	if text := strings.Join(all, "; "); text != c.missing {
		c.missing = text
		if text == "" {
			return
		}
		c.log.Info("recovering", "waiting", text)
		if c.cfg.Observer.Waiting != nil {
			c.cfg.Observer.Waiting(0, silent)
		}
	}
}

// ask sends a question, unless it is under way.
func (c *recovery) ask(w *witness, p part) {
	const most = 3 // answers under way, so that the neighbor has room for them all
	if w.asked[p] || len(w.asked) >= most {
		return
	}
	frame, err := c.codec.Append(nil, &wire.Frame{Kind: wire.Ask, Part: p.part, Round: p.round, Life: c.life})
	if err != nil { // a round within the run's always fits
		c.log.Error("question not sent", "err", err)
		return
	}
	w.asked[p] = true
	c.post(w.number, frame)
}

// deliver takes in a neighbor's frame while the node has no state.
func (c *recovery) deliver(in received) error {
	i := slices.IndexFunc(c.peers, func(w *witness) bool { return w.name == in.from })
	if i < 0 {
		return errors.New("sdk: the sender is no neighbor")
	}
	w, f := c.peers[i], &c.frame
	if err := c.codec.Decode(in.frame, f); err != nil {
		return err
	}
	switch {
	case f.Kind == wire.Ask:
		if c.told[w.number] != f.Life {
			c.told[w.number] = f.Life
			if _, worth := c.mention("asks", w.name); worth {
				c.log.Error("a neighbor has lost its state as well: what only the two of them knew is lost, and neither can recover it", "neighbor", w.name)
			}
		}
	case f.Kind == wire.Tell && f.Life&lifeMask == c.life:
		return c.hear(w, f)
	case f.Kind == wire.Hail && !f.Resent && c.known():
		// The neighbor was started again and goes on when this node has said which release of its it holds. The lost device made
		// release newest after it had that of the round before.
		answer := wire.Frame{Kind: wire.Hail, Resent: true, Round: c.newest, Held: max(0, c.newest-1), Life: f.Life}
		if c.claims.signing() { // it has signed where it stands
			own, err := c.claims.theirs(c.claims.peers[w.number], f.Own)
			if err != nil && f.Round > 0 {
				return err
			}
			if answer.Held = min(answer.Held, f.Round); answer.Held > 0 {
				answer.Proof = own.Append(nil)
			}
		}
		frame, err := c.codec.Append(nil, &answer)
		if err != nil {
			return err
		}
		c.post(w.number, frame)
	}
	return nil // what else it sends will be sent again
}

// hear takes in an answer.
func (c *recovery) hear(w *witness, f *wire.Frame) error {
	last := c.cfg.Fleet.Method.Rounds + c.cfg.Fleet.Method.Cooldown
	if f.Round > last || f.Held > last {
		return fmt.Errorf("sdk: an answer speaks of releases %d and %d, want 0 to %d", f.Round, f.Held, last)
	}
	if w.fault = c.proved(w, f); w.fault != nil {
		if p := (part{f.Part, f.Round}); p.part == wire.Sent && w.asked[p] { // somebody else may have what was signed
			delete(w.asked, p)
			w.parts[p] = piece{}
		}
		return w.fault
	}
	if f.Part == wire.Standing {
		w.device = max(w.device, int(f.Life>>48))
	}
	p := part{f.Part, f.Round}
	if f.Part == wire.Standing {
		p.round = 0
		delete(w.asked, p)
		w.heard, w.round, w.held = true, max(w.round, f.Round), max(w.held, f.Held) // answers may overtake each other
		return nil
	}
	if !w.asked[p] {
		return nil
	}
	delete(w.asked, p)
	if slices.ContainsFunc(f.Grid, func(n int32) bool { return n <= -maxPlace || n >= maxPlace }) {
		return fmt.Errorf("sdk: an answer has a place on the grid of %d steps or more", maxPlace)
	}
	w.parts[p] = piece{slices.Clone(f.Vector), slices.Clone(f.Grid)}
	return nil
}

// proved refuses an answer that speaks of releases, or of how many devices there were, and does not show what whoever has made them has
// signed; and a release that is not the one that was signed.
func (c *recovery) proved(w *witness, f *wire.Frame) error {
	if !c.claims.signing() {
		return nil
	}
	if f.Part == wire.Standing && f.Round > 0 {
		own, err := c.claims.theirs(c.claims.peers[w.number], f.Own)
		if err == nil && own.Round != f.Round {
			err = fmt.Errorf("sdk: the sender says that it has made release %d, and has signed release %d", f.Round, own.Round)
		}
		if err != nil {
			return err
		}
	}
	told := len(f.Vector)+len(f.Grid) > 0
	about, generation := 0, 0
	switch f.Part {
	case wire.Standing:
		about, generation = f.Held, int(f.Life>>48)
	case wire.Sent:
		if told {
			about = f.Round
		}
	}
	shown, err := c.claims.proof(f, about)
	if err != nil {
		return err
	}
	if shown == nil {
		if generation > 0 {
			return fmt.Errorf("sdk: the sender says that there were %d devices of this name before, and shows no signature of the last", generation)
		}
		return nil
	}
	if shown.Round < about || int(shown.Generation) < generation {
		return fmt.Errorf("sdk: the sender speaks of release %d and device %d, and shows the signature of release %d and device %d",
			about, generation, shown.Round, shown.Generation)
	}
	if f.Part == wire.Sent && told && (shown.Round != f.Round || digestOf(f.Vector, f.Grid) != shown.Digest) {
		return fmt.Errorf("sdk: what the sender tells of release %d is not what was signed", f.Round)
	}
	before, known := c.proofs[shown.Round]
	if known && before.Contradicts(shown) {
		return ending{fmt.Errorf("sdk: %w: the lost device has signed two different releases of round %d: %w", ErrRecovery, shown.Round, ErrClone)}
	}
	if !known || shown.Generation > before.Generation {
		c.proofs[shown.Round] = *shown
	}
	return nil
}

// maxPlace bounds what is told of places on the grid, as the machine does.
const maxPlace = 1 << 30

// known reports whether every neighbor has said how far it is.
func (c *recovery) known() bool {
	return !slices.ContainsFunc(c.peers, func(w *witness) bool { return !w.heard && !c.agreed })
}

// step does what can be done with the answers so far, and reports whether all is there that is needed. An error is final.
func (c *recovery) step() (done bool, err error) {
	if !c.known() {
		for _, w := range c.peers {
			if !w.heard {
				c.ask(w, part{wire.Standing, 0})
			}
		}
		return false, nil
	}
	c.held = 0
	for _, w := range c.peers {
		c.held = max(c.held, w.held)
	}
	newest := c.held
	if newest == c.given {
		newest = max(0, newest-1)
	}
	if newest != c.newest {
		c.newest, c.agreed = newest, false
	}
	if err := c.possible(); err != nil {
		return false, err
	}
	if newest > 0 {
		ready, err := c.gather()
		if errors.Is(err, errGone) && c.doubted && c.given == 0 && newest == c.held && !slices.ContainsFunc(c.peers, func(w *witness) bool { return w.round > newest }) {
			// It has gone into no neighbor's next release: the run can go on from the one before.
			c.given = newest
			return c.step()
		}
		if err != nil || !ready {
			return false, err
		}
	}
	if !c.agreed { // once more, for the case that something has moved
		c.agreed = true
		for _, w := range c.peers {
			w.heard = false
			delete(w.asked, part{wire.Standing, 0})
		}
	}
	done = true
	for _, w := range c.peers {
		if !w.heard {
			done = false
			c.ask(w, part{wire.Standing, 0})
		}
	}
	return done, nil
}

// possible refuses neighbors that stand where they cannot stand if the lost device has made the newest release, and no later
// one is known.
func (c *recovery) possible() error {
	var errs []error
	for _, w := range c.peers {
		if w.round < c.newest-1 || w.round > c.newest+1 {
			errs = append(errs, fmt.Errorf("%q has made release %d, and %s release %d of %q: neighbors are never more than one round apart",
				w.name, w.round, c.holders(), c.newest, c.cfg.Name))
		}
	}
	return errors.Join(errs...)
}

// holders names those who say that they have held the newest release.
func (c *recovery) holders() string {
	var names []string
	for _, w := range c.peers {
		if w.held >= c.newest {
			names = append(names, fmt.Sprintf("%q", w.name))
		}
	}
	if len(names) == 1 {
		return names[0] + " holds"
	}
	return strings.Join(names, " and ") + " hold"
}
