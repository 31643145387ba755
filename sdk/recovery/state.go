package recovery

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/signed"
)

// gather asks for what is missing, sends neighbors what they lack, and reports whether all is there.
func (r *Recovery) gather() (ready bool, err error) {
	k := r.newest
	ready = true
	lacking := false // somebody lacks the release before the newest
	lacksBefore := func(p *peer) bool { return p.round == k-1 && k > 1 && !p.has(question{admm.SentRelease, k - 1}) }
	for _, p := range r.peers {
		for _, q := range r.wanted(p) {
			if _, there := p.answers[q]; !there {
				ready = false
				r.ask(p, q)
			}
		}
		lacking = lacking || lacksBefore(p)
	}
	if !ready {
		return false, nil
	}
	newest, err := r.release(k)
	if err != nil {
		return false, err
	}
	var before admm.Payload
	if lacking {
		if before, err = r.release(k - 1); err != nil {
			return false, err
		}
	}
	for _, p := range r.peers {
		if p.round < k {
			ready = false
		}
		if lacksBefore(p) {
			err = r.push(p, k-1, before)
		}
		if err == nil && p.round <= k && !p.has(question{admm.SentRelease, k}) {
			ready = false
			err = r.push(p, k, newest)
		}
		if err != nil {
			return false, err
		}
	}
	return ready, nil
}

// wanted lists what a neighbor is to tell.
func (r *Recovery) wanted(p *peer) []question {
	k := r.newest
	want := []question{{admm.SentRelease, k}}
	if p.round >= k {
		want = append(want, question{admm.RequesterZ, k}, question{admm.ResponderZ, k})
		if r.cfg.Machine.GridStep != 0 {
			want = append(want, question{admm.RequesterBase, k}, question{admm.ResponderBase, k})
		}
	}
	if p.round == k+1 && r.onGrid(k) {
		want = append(want, question{admm.RequesterBase, k + 1})
	}
	if k > 1 && r.behind() {
		want = append(want, question{admm.SentRelease, k - 1})
		if p.round <= k && r.onGrid(k-1) {
			want = append(want, question{admm.RequesterBase, k - 1})
		}
	}
	return want
}

// behind reports whether a neighbor has not come to its own release of the newest round.
func (r *Recovery) behind() bool {
	return slices.ContainsFunc(r.peers, func(p *peer) bool { return p.round < r.newest })
}

func (r *Recovery) onGrid(round int) bool {
	return r.cfg.Machine.GridStep != 0 && round <= r.cfg.Machine.Learning()
}

// release returns a release of the lost device as it was sent, and signed.
func (r *Recovery) release(round int) (admm.Payload, error) {
	found, err := r.assemble(round)
	if err != nil || r.cfg.Claims == nil {
		return found, err
	}
	shown, ok := r.proofs[round]
	if !ok {
		return found, fmt.Errorf("release %d of %q has been told by neighbors, and none of them shows its signature", round,
			r.cfg.Name)
	}
	if signed.Digest(found.Vector, found.Grid) != shown.Digest {
		return found, fmt.Errorf("release %d of %q as neighbors tell it is not the one that was signed (they are %s)", round,
			r.cfg.Name, r.all())
	}
	return found, nil
}

// assemble returns a release of the lost device as somebody holds it, or as the difference of two grid points.
func (r *Recovery) assemble(round int) (admm.Payload, error) {
	found, err := r.agree(question{admm.SentRelease, round}, fmt.Sprintf("release %d of %q", round, r.cfg.Name))
	if err != nil {
		return found, err
	}
	if !told(found) {
		found = r.forgotten[round]
	}
	if told(found) && (len(found.Grid) > 0) != r.onGrid(round) {
		return found, fmt.Errorf("release %d of %q is told with the wrong kind of numbers", round, r.cfg.Name)
	}
	if r.onGrid(round) {
		before, err := r.base(round)
		if err != nil {
			return found, err
		}
		after, err := r.base(round + 1)
		if err != nil {
			return found, err
		}
		if len(before) > 0 && len(after) > 0 {
			moved := admm.Payload{Grid: difference(after, before)}
			if told(found) && !found.Equal(moved) {
				return found, fmt.Errorf("neighbors disagree about release %d of %q: what some hold does not lead from where "+
					"others say that it began to where it ended (they are %s)", round, r.cfg.Name, r.all())
			}
			return moved, nil
		}
	}
	if !told(found) {
		return found, r.gone(round)
	}
	return found, nil
}

// base returns the grid point from which a release of the lost device starts; nil if nobody tells it.
func (r *Recovery) base(round int) ([]int32, error) {
	p, err := r.agree(question{admm.RequesterBase, round}, fmt.Sprintf("the place of release %d of %q", round-1,
		r.cfg.Name))
	return p.Grid, err
}

var errGone = errors.New("a release is gone")

// gone is the end: a release has been seen, and nobody can give it back; or one before it, that somebody still needs.
func (r *Recovery) gone(round int) error {
	const anew = "start the fleet anew under another run id"
	switch {
	case round < r.newest:
		return fmt.Errorf("%s release %d of %q, and no neighbor has release %d, without which some cannot go on: it never "+
			"arrived anywhere, or whoever had it was started again; %s", r.holders(), r.newest, r.cfg.Name, round, anew)
	case round == r.cfg.Machine.Last():
		return fmt.Errorf("%w: release %d of %q was the last one, for %s it, and no neighbor can give it back any more, "+
			"having been started again since: the run is over, and a neighbor's final model is as good as the one that is lost",
			errGone, round, r.cfg.Name, r.holders())
	}
	return fmt.Errorf("%w: release %d of %q has been seen, for %s release %d, and no neighbor can give it back any "+
		"more, having been started "+
		"again since: the run cannot go on without it; %s", errGone, round, r.cfg.Name, r.holders(), r.newest, anew)
}

// all names the neighbors.
func (r *Recovery) all() string { return strings.Join(r.names(0), ", ") }

// agree returns what the neighbors say of a thing that several of them know. They must agree.
func (r *Recovery) agree(q question, what string) (found admm.Payload, err error) {
	var by string
	for _, p := range r.peers {
		switch answer := p.answers[q]; {
		case !told(answer):
		case !told(found):
			found, by = answer, p.name
		case !answer.Equal(found):
			return found, fmt.Errorf("%q and %q disagree about %s: one of them is wrong, or something else has spoken in its "+
				"name", by, p.name, what)
		}
	}
	return found, nil
}

// push sends a neighbor a release that it lacks, as the lost device has sent it to others.
func (r *Recovery) push(p *peer, round int, release admm.Payload) error {
	q := question{admm.SentRelease, -round} // no question has a negative round
	if p.asked[q] {
		return nil
	}
	p.asked[q] = true
	m := admm.Message{Kind: admm.Release, Round: round, Resent: true, Vector: release.Vector, Grid: release.Grid}
	if shown, ok := r.proofs[round]; ok {
		m.Signed.Own = shown.Append(nil)
	}
	return r.cfg.Send(p.number, &m)
}

// Result is what has come together.
type Result struct {
	State      *admm.State     // nil: no neighbor holds a release, and the run begins at its start
	Held       int             // the last release that a neighbor has held: it and those before it have been seen
	Generation uint16          // of the device that takes over
	Signed     *signed.Release // by the lost device, of State; nil if it is not known
}

// Result puts the lost state together, once Step has reported that all is there.
func (r *Recovery) Result() (*Result, error) {
	res, err := r.result()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFailed, err)
	}
	return res, nil
}

func (r *Recovery) result() (*Result, error) {
	res := &Result{Held: r.held}
	for _, p := range r.peers {
		res.Generation = max(res.Generation, p.generation)
	}
	if res.Generation++; res.Generation == 0 {
		return nil, fmt.Errorf("neighbors have seen %d devices of this name", 1<<16)
	}
	if shown, ok := r.proofs[r.newest]; ok {
		res.Signed = &shown
	}
	if r.newest == 0 {
		return res, nil
	}
	err := r.complete()
	if err == nil {
		res.State, err = r.state()
	}
	return res, err
}

func (r *Recovery) state() (*admm.State, error) {
	k := r.newest
	s := &admm.State{Round: k, Recovered: k}
	if n := r.cfg.Machine.Estimator.Memory(); n > 0 {
		s.Last = make([]float32, n) // it went with the lost device
	}
	release, err := r.release(k)
	if err != nil {
		return s, err
	}
	if r.cfg.Machine.GridStep != 0 {
		base, err := r.base(k)
		if err != nil {
			return s, err
		}
		s.Grid = slices.Clone(base)
	}
	if r.onGrid(k) {
		s.Delta = release.Grid
		s.X = make([]float32, r.cfg.Machine.Estimator.Dim)
		for i, n := range s.Delta {
			s.Grid[i] += n
			s.X[i] = float32(float64(s.Grid[i]) * r.cfg.Machine.GridStep)
		}
	} else {
		s.X = release.Vector
	}
	if r.cfg.Machine.Average {
		s.Mean = slices.Clone(s.X)
	}
	for _, j := range r.cfg.Machine.Neighbors {
		p := r.peer(j)
		if p == nil { // nothing of the edge is used again
			gone := admm.EdgeState{Peer: j, Z: make([]float32, len(s.X)), PeerZ: make([]float32, len(s.X)), Quarantine: k + 1}
			if s.Grid != nil {
				gone.Base = make([]int32, len(s.X))
			}
			s.Edges = append(s.Edges, gone)
			continue
		}
		s.Edges = append(s.Edges, admm.EdgeState{
			Peer: p.number, Heard: p.round,
			Z: p.answers[question{admm.RequesterZ, k}].Vector, PeerZ: p.answers[question{admm.ResponderZ, k}].Vector,
			Base: p.answers[question{admm.ResponderBase, k}].Grid,
		})
	}
	return s, nil
}

// complete names the neighbors that do not have what only they can know.
func (r *Recovery) complete() error {
	var errs []error
	for _, p := range r.peers {
		if slices.ContainsFunc(r.wanted(p), func(q question) bool {
			return q.part != admm.SentRelease && q.round == r.newest && !p.has(q)
		}) {
			errs = append(errs, fmt.Errorf("%q has no state of its own release %d any more, or keeps none: with it went what "+
				"only it knew of the edge", p.name, r.newest))
		}
	}
	return errors.Join(errs...)
}

// difference returns a - b, or a copy of a if b has no numbers.
func difference(a, b []int32) []int32 {
	d := slices.Clone(a)
	for i, x := range b {
		d[i] -= x
	}
	return d
}
