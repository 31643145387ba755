package recovery

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/signed"
)

// ErrFailed is what an error wraps that says: the state of the lost device cannot be had from its neighbors. Nothing
// was stored, and the same node may try again.
var ErrFailed = errors.New("the state cannot be recovered")

// ErrConflict is what an error wraps that says: the lost device has signed two different releases of one round.
var ErrConflict = errors.New("the lost device has signed two different releases")

// Config is what a recovery has to know.
type Config struct {
	Name        string      // of the member whose device was lost
	Machine     admm.Config // of the machine that is to go on, with Releases
	Names       []string    // of the neighbors, in the order of Machine.Neighbors
	Incarnation uint64      // tells the answers to this recovery from those to an earlier one; random, 48 bits
	Claims      Claims      // nil: nothing is signed, and what neighbors say is believed

	// Send sends a message to a neighbor. It may drop it. An error is a message that cannot be encoded.
	Send func(to int, m *admm.Message) error
}

// Claims checks what neighbors show.
type Claims interface {
	// Signed returns the release in b, which the neighbor has signed.
	Signed(neighbor int, b []byte) (*signed.Release, error)
	// Proof returns the release of this member that a message shows, or nil if it shows none and held is 0.
	Proof(m *admm.Message, held int) (*signed.Release, error)
}

// Recovery is what a node without a state has heard from its neighbors.
type Recovery struct {
	cfg    Config
	peers  []*peer // in the order of the neighbors' numbers
	agreed bool    // all is there, and the neighbors are asked once more how far they are
	// the last release of the lost device that a neighbor has held; valid once all have told their progress
	held     int
	newest   int   // the one to go on from: held, or the one before if nobody has that any more
	givenUp  int   // a release that nobody has any more and that is given up; 0 for none
	doubted  bool  // an answer could not be right, and all have been asked anew
	conflict error // two signed releases contradict each other

	proofs map[int]signed.Release // by round: what the lost device has signed, of its latest generation
	// by round: the lost device's release that a neighbor has told, and has forgotten since, for it was started again
	forgotten map[int]admm.Payload
}

// peer is a neighbor, and what it has told.
type peer struct {
	number     int
	name       string
	heard      bool   // it has told its progress, since it was last asked to
	round      int    // how many releases it has made
	held       int    // the last release of the lost device that it has held
	generation uint16 // the latest generation of the lost device that it has heard of
	fault      error  // why its last answer does not count, or nil
	answers    map[question]admm.Payload
	asked      map[question]bool // since the last tick
}

// question names something that a neighbor can be asked for.
type question struct {
	part  admm.Part
	round int
}

var progress = question{admm.Progress, 0}

// has reports whether the neighbor has told something, and has it.
func (p *peer) has(q question) bool { return told(p.answers[q]) }

// told reports whether a payload is not empty.
func told(p admm.Payload) bool { return len(p.Vector)+len(p.Grid) > 0 }

// New returns a recovery at its start.
func New(cfg Config) *Recovery {
	r := &Recovery{cfg: cfg, proofs: map[int]signed.Release{}, forgotten: map[int]admm.Payload{}}
	for i, j := range cfg.Machine.Neighbors {
		r.peers = append(r.peers, &peer{number: j, name: cfg.Names[i],
			answers: map[question]admm.Payload{}, asked: map[question]bool{}})
	}
	return r
}

// EndAt says that the run ends early, with a round of data as its last.
func (r *Recovery) EndAt(last int) { r.cfg.Machine.End = last }

// doubt forgets all answers.
func (r *Recovery) doubt() {
	r.doubted, r.agreed = true, false
	clear(r.forgotten)
	for _, p := range r.peers {
		p.heard = false
		clear(p.answers)
		clear(p.asked)
	}
}

// Reached says that the connection to a neighbor has just opened: what may have got lost is asked again at the next
// Step.
func (r *Recovery) Reached(neighbor int) {
	if p := r.peer(neighbor); p != nil {
		clear(p.asked)
	}
}

// Without goes on without a neighbor that has ended to work with the lost device, or with its successor. What it has
// told does not count any more.
func (r *Recovery) Without(neighbor int) {
	r.peers = slices.DeleteFunc(r.peers, func(p *peer) bool { return p.number == neighbor })
	again := r.doubted
	r.doubt()
	r.doubted = again
}

func (r *Recovery) peer(number int) *peer {
	if i := slices.IndexFunc(r.peers, func(p *peer) bool { return p.number == number }); i >= 0 {
		return r.peers[i]
	}
	return nil
}

// Tick says that time has passed: what may have got lost, or may have changed, is asked again. It returns the names of
// the neighbors that are waited for, and says in words what is missing.
func (r *Recovery) Tick() (waiting []string, missing string) {
	var all []string
	for _, p := range r.peers {
		clear(p.asked)
		for q, found := range p.answers {
			if q.part == admm.SentRelease && !told(found) {
				delete(p.answers, q) // it may have arrived by now
			}
		}
		text := ""
		switch {
		case p.fault != nil:
			text = fmt.Sprintf("%q gives no answer that counts: %v", p.name, p.fault)
		case !p.heard:
			text = fmt.Sprintf("%q has not answered", p.name)
		case p.round < r.newest:
			text = fmt.Sprintf("%q has made release %d of its own, and not yet %d", p.name, p.round, r.newest)
		}
		if text != "" {
			waiting, all = append(waiting, p.name), append(all, text)
		}
		if p.round < r.newest || !r.agreed {
			r.ask(p, progress)
		}
	}
	return waiting, strings.Join(all, "; ")
}

// ask sends a question, unless it is under way.
func (r *Recovery) ask(p *peer, q question) {
	const most = 3 // answers under way, so that the neighbor has room for them all
	if p.asked[q] || len(p.asked) >= most {
		return
	}
	err := r.cfg.Send(p.number, &admm.Message{Kind: admm.StateRequest, Part: q.part, Round: q.round,
		Incarnation: r.cfg.Incarnation})
	p.asked[q] = err == nil
}

// Receive takes in a neighbor's message while the node has no state. A message of another kind is ignored: the neighbor
// will send it again.
func (r *Recovery) Receive(m *admm.Message) error {
	p := r.peer(m.From)
	if p == nil {
		return errors.New("recovery: the sender is no neighbor")
	}
	if m.Kind == admm.Probe {
		r.startedAgain(p)
	}
	switch {
	case m.Kind == admm.StateResponse && m.Incarnation == r.cfg.Incarnation:
		return r.hear(p, m)
	case m.Kind == admm.Probe && r.known():
		return r.replyTo(p, m)
	}
	return nil
}

// startedAgain notes that a neighbor may not hold any more what it has told of the lost device's releases.
func (r *Recovery) startedAgain(p *peer) {
	for q, found := range p.answers {
		if q.part == admm.SentRelease && told(found) {
			r.forgotten[q.round] = found
			delete(p.answers, q)
			delete(p.asked, q)
		}
	}
}

// replyTo answers a neighbor that was started again, and goes on when this node has said which release of its it holds.
// The lost device made release newest after it had that of the round before.
func (r *Recovery) replyTo(p *peer, probe *admm.Message) error {
	reply := admm.Message{Kind: admm.ProbeReply, Round: r.newest, Held: max(0, r.newest-1),
		Generation: probe.Generation, Incarnation: probe.Incarnation}
	if r.cfg.Claims != nil { // it has signed where it stands
		own, err := r.cfg.Claims.Signed(p.number, probe.Signed.Own)
		if err != nil && probe.Round > 0 {
			return err
		}
		if reply.Held = min(reply.Held, probe.Round); reply.Held > 0 {
			reply.Signed.Proof = own.Append(nil)
		}
	}
	return r.cfg.Send(p.number, &reply)
}

// hear takes in an answer.
func (r *Recovery) hear(p *peer, m *admm.Message) error {
	last := r.cfg.Machine.Last()
	if min(m.Round, m.Held) < 0 || max(m.Round, m.Held) > last {
		return fmt.Errorf("recovery: an answer speaks of releases %d and %d, want 0 to %d", m.Round, m.Held, last)
	}
	q := question{m.Part, m.Round}
	if p.fault = r.shaped(m); p.fault == nil {
		p.fault = r.proved(p, m)
	}
	if p.fault != nil {
		if q.part == admm.SentRelease && p.asked[q] { // somebody else may have what was signed
			delete(p.asked, q)
			p.answers[q] = admm.Payload{}
		}
		return p.fault
	}
	if q.part == admm.Progress {
		delete(p.asked, progress)
		p.generation = max(p.generation, m.Generation)
		p.heard, p.round, p.held = true, max(p.round, m.Round), max(p.held, m.Held) // answers may overtake each other
		return nil
	}
	if !p.asked[q] {
		return nil
	}
	delete(p.asked, q)
	p.answers[q] = admm.Payload{Vector: slices.Clone(m.Vector), Grid: slices.Clone(m.Grid)}
	return nil
}

// shaped refuses an answer that has not the numbers of what it is about: all of them or none, of the kind of its part,
// and within the limits of the machine.
func (r *Recovery) shaped(m *admm.Message) error {
	var vector, grid int
	switch d := r.cfg.Machine.Estimator.Dim; m.Part {
	case admm.RequesterBase, admm.ResponderBase:
		grid = d
	case admm.RequesterZ, admm.ResponderZ:
		vector = d
	case admm.SentRelease:
		vector, grid = d, d // which of the two shows in assemble
	}
	if n := len(m.Vector); n != 0 && n != vector {
		return fmt.Errorf("recovery: an answer about part %d has %d numbers, want %d or none", m.Part, n, vector)
	}
	if n := len(m.Grid); n != 0 && n != grid {
		return fmt.Errorf("recovery: an answer about part %d has %d grid steps, want %d or none", m.Part, n, grid)
	}
	const most = 1 << 30 // as the machine has it
	if slices.ContainsFunc(m.Grid, func(n int32) bool { return n <= -most || n >= most }) {
		return fmt.Errorf("recovery: an answer has %d grid steps or more in a coordinate", most)
	}
	if slices.ContainsFunc(m.Vector, func(x float32) bool { return !(x >= -math.MaxFloat32 && x <= math.MaxFloat32) }) {
		return errors.New("recovery: an answer has a coordinate that is no finite number")
	}
	return nil
}

// proved refuses an answer that speaks of releases, or of generations, and does not show what whoever made them has
// signed; and a release that is not the one that was signed.
func (r *Recovery) proved(p *peer, m *admm.Message) error {
	if r.cfg.Claims == nil {
		return nil
	}
	if m.Part == admm.Progress && m.Round > 0 {
		own, err := r.cfg.Claims.Signed(p.number, m.Signed.Own)
		if err == nil && own.Round != m.Round {
			err = fmt.Errorf("recovery: the sender says that it has made release %d, and has signed release %d", m.Round,
				own.Round)
		}
		if err != nil {
			return err
		}
	}
	release := m.Part == admm.SentRelease && told(m.Payload())
	about, generation := 0, uint16(0)
	switch {
	case m.Part == admm.Progress:
		about, generation = m.Held, m.Generation
	case release:
		about = m.Round
	}
	shown, err := r.cfg.Claims.Proof(m, about)
	latest := shown
	if err == nil && len(m.Signed.Other) > 0 {
		latest, err = r.cfg.Claims.Proof(&admm.Message{Signed: admm.Signed{Proof: m.Signed.Other}}, 0)
	}
	if err != nil {
		return err
	}
	if shown == nil {
		if generation == 0 {
			return nil
		}
		shown = new(signed.Release)
		latest = shown
	}
	if shown.Round < about || latest.Generation < generation {
		return fmt.Errorf("recovery: the sender speaks of release %d and generation %d, and shows the signature of release "+
			"%d and generation %d", about, generation, shown.Round, latest.Generation)
	}
	if release && (shown.Round != m.Round || signed.Digest(m.Vector, m.Grid) != shown.Digest) {
		return fmt.Errorf("recovery: what the sender tells of release %d is not what was signed", m.Round)
	}
	before, known := r.proofs[shown.Round]
	if known && before.Contradicts(shown) {
		r.conflict = fmt.Errorf("%w of round %d", ErrConflict, shown.Round)
		return r.conflict
	}
	if !known || shown.Generation > before.Generation {
		r.proofs[shown.Round] = *shown
	}
	return nil
}

// known reports whether every neighbor has told its progress.
func (r *Recovery) known() bool {
	return !slices.ContainsFunc(r.peers, func(p *peer) bool { return !p.heard && !r.agreed })
}

// Step does what can be done with the answers so far, and reports whether all is there that is needed. An error is
// final, and wraps [ErrFailed].
func (r *Recovery) Step() (done bool, err error) {
	if done, err = r.step(); err != nil && !r.doubted { // a frame of the lost device may have come in between two answers
		r.doubt()
		done, err = r.step()
	}
	if r.conflict != nil {
		err = r.conflict
	}
	if err != nil {
		return false, fmt.Errorf("%w: %w", ErrFailed, err)
	}
	return done, nil
}

func (r *Recovery) step() (done bool, err error) {
	if len(r.peers) == 0 && len(r.cfg.Names) > 0 {
		return false, errors.New("every neighbor has ended to work with this member")
	}
	if !r.known() {
		r.askProgress()
		return false, nil
	}
	r.held = 0
	for _, p := range r.peers {
		r.held = max(r.held, p.held)
	}
	newest := r.held
	if newest == r.givenUp {
		newest = max(0, newest-1)
	}
	if newest != r.newest {
		r.newest, r.agreed = newest, false
	}
	if err := r.possible(); err != nil {
		return false, err
	}
	if newest > 0 {
		ready, err := r.gather()
		if errors.Is(err, errGone) && r.doubted && r.givenUp == 0 && newest == r.held && !r.used(newest) {
			r.givenUp = newest // the run can go on from the release before
			return r.step()
		}
		if err != nil || !ready {
			return false, err
		}
	}
	if !r.agreed { // once more, for the case that something has moved
		r.agreed = true
		for _, p := range r.peers {
			p.heard = false
			delete(p.asked, progress)
		}
	}
	return r.askProgress(), nil
}

// askProgress asks those who have not told it, and reports whether there are none.
func (r *Recovery) askProgress() (all bool) {
	all = true
	for _, p := range r.peers {
		if !p.heard {
			all = false
			r.ask(p, progress)
		}
	}
	return all
}

// used reports whether a release of the lost device has gone into a neighbor's own next release.
func (r *Recovery) used(round int) bool {
	return slices.ContainsFunc(r.peers, func(p *peer) bool { return p.round > round })
}

// possible refuses neighbors that stand where they cannot stand if the lost device has made the newest release, and no
// later one is known.
func (r *Recovery) possible() error {
	var errs []error
	for _, p := range r.peers {
		if p.round < r.newest-1 || p.round > r.newest+1 {
			errs = append(errs, fmt.Errorf("%q has made release %d, and %s release %d of %q: neighbors are never more than one "+
				"round apart, unless another device is in its place", p.name, p.round, r.holders(), r.newest, r.cfg.Name))
		}
	}
	return errors.Join(errs...)
}

// names lists the neighbors that say that they have held a release.
func (r *Recovery) names(release int) (names []string) {
	for _, p := range r.peers {
		if p.held >= release {
			names = append(names, fmt.Sprintf("%q", p.name))
		}
	}
	return names
}

// holders names those who say that they have held the newest release.
func (r *Recovery) holders() string {
	names := r.names(r.newest)
	if len(names) == 1 {
		return names[0] + " holds"
	}
	return strings.Join(names, " and ") + " hold"
}
