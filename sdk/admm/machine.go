package admm

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/zoest"
	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// Machine is one client. It is not safe for concurrent use.
//
// Besides the numbers of its estimator (see [zoest.Estimator]), a Machine for a model of d parameters stores 6d numbers,
// and 4d per neighbor. Config.GridStep adds d numbers, and d per neighbor; mixing or cool-down adds d per neighbor. A
// cool-down after rounds on the grid adds 2d numbers, and 2d per neighbor. A private run adds d 64-bit integers, and d
// more with pairwise noise.
type Machine struct {
	cfg   Config
	est   *zoest.Estimator
	mech  *dpmech.Mechanism // nil if NonPrivate
	edges []edge            // in the order of cfg.Neighbors

	// Algorithm 1. The vectors of all edges are concatenated, with d numbers per edge; see part.
	round  int           // k: the number of releases made, and the round in progress
	x      []float32     // x_i,k: the last release
	grid   []int32       // x_i,k in grid steps
	z      []float32     // z_ij
	peerZ  []float32     // z_ji
	base   []int32       // j's grid point to which j's next change on the grid applies; only on a grid
	phi    []float32     // the local iterate phi^t; shares the memory of center
	s      []float32     // sum of the estimates so far, then the update s_i,k
	p      []float32     // the frozen penalty p_i,k
	center []float32     // the public part of the release, after the local work
	flows  []float32     // f_ij, see flow
	work   progress      // of the round
	pairs  []dpmech.Pair // scratch space of a release

	// Exactly-once delivery.
	in       [2]Payload // received releases; nil before the first
	out      [2]Payload // what carried the last two releases, by round mod 2; the same for all edges
	send     []Message  // messages that Ready has not returned yet
	begun    bool       // this process made a release
	released bool       // a release is made, but Ready has not reported it yet: the machine waits
	saidDone bool
	lost     int       // the second-last release, if its message was lost with a damaged state; otherwise 0
	verdicts []Verdict // verdicts that Verdicts has not returned yet

	outgrown int // the first release that was clipped to the public bound, or 0
	measured measured
	counts   counts
	err      error
	ahead    struct{ peer, held int } // see Ahead
}

// Ready lists what the driver has to do, in the order of the fields.
type Ready struct {
	// Reserve is 0 unless the next release is private. If the next release is private, Reserve is its number among the
	// K releases with data, counted from 1. Durably charge its cost before the next call of Ready, which draws the
	// noise. If the budget does not cover the cost, never call the machine again. From this Ready to the Ready that
	// reports the release, only the noise source can fail.
	Reserve int
	// Released is the number of the release that was just made, or 0. Model returns this release. Durably store State,
	// then durably mark the release as one that may have been sent. Only then send or show the release.
	Released int
	// Send holds the messages to send. The machine owns the slice and the vectors. They are valid until the next call
	// of one of the machine's methods.
	Send []Message
	// Queries are the open queries for the oracle, at most Estimator.Window. They stay the same until Answer takes
	// their losses.
	Queries []zoest.Query
	// Finished is true once all rounds are over and every neighbor reported that it is done.
	Finished bool
}

// Status describes a machine's progress.
type Status struct {
	Round int // releases made so far, including the cool-down
	// Waiting lists the neighbors from which a message, or the answer to a probe, is missing.
	Waiting  []int
	Queries  int64 // losses requested
	Failed   int64 // losses that were unavailable and replaced, see Answer (private runs only)
	Complete bool  // the last release is made: the model is final

	// ConsensusError is the mean of |x_i - x_j|^2 over the neighbors, measured after the release with the number
	// Compared.
	Compared       int
	ConsensusError float64
}

// New returns a machine at the start of round 0. It fails if a field is missing, or contradicts another one.
func New(cfg Config) (*Machine, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	est, err := zoest.NewEstimator(cfg.Estimator)
	if err != nil {
		return nil, err
	}
	d := cfg.Estimator.Dim
	m := &Machine{
		cfg: cfg, est: est,
		x: make([]float32, d), phi: make([]float32, d), s: make([]float32, d), p: make([]float32, d),
	}
	m.center = m.phi
	if !cfg.NonPrivate {
		if m.mech, err = dpmech.NewMechanism(d, cfg.Noise); err != nil {
			return nil, err
		}
	}
	copy(m.x, cfg.X0)
	if cfg.GridStep != 0 {
		m.grid = make([]int32, d)
		if err := m.inRange(m.x, true); err != nil {
			return nil, fmt.Errorf("admm: X0: %w", err)
		}
		for i, x := range m.x {
			m.grid[i] = int32(m.quantize(x))
		}
	}
	m.edges = make([]edge, len(cfg.Neighbors))
	for i, j := range cfg.Neighbors {
		m.edges[i] = edge{peer: j, index: i}
	}
	m.z = make([]float32, len(m.edges)*d)
	m.base = make([]int32, len(m.edges)*len(m.grid))
	for i := range m.edges {
		copy(m.z[i*d:], m.x) // z_ij,0 = rho*x_0
		copy(part(m.base, i, d), m.grid)
	}
	vec.Scale(m.z, float32(cfg.Rho))
	clamp(m.z)
	m.peerZ = slices.Clone(m.z)
	if cfg.mixes() {
		m.flows = make([]float32, len(m.z))
	}
	m.start()
	return m, nil
}

// start probes the neighbors.
func (m *Machine) start() {
	for i := range m.edges {
		if m.cfg.Probe && !m.dropped(i) {
			m.probe(&m.edges[i])
		} else {
			m.edges[i].probed = true
		}
	}
}

// Ready advances as far as the inputs allow, but not past a release, and returns the driver's duties. Call Ready until
// it returns no duties, then wait for an input. After an error the machine cannot continue. Ready returns an error if
// the noise source failed, a neighbor holds a release of this client that the client does not know of, or the model of
// a client without neighbors diverges.
func (m *Machine) Ready() (r Ready, err error) {
	if err := m.advance(); err != nil {
		return Ready{}, err
	}
	r.Send = m.send
	m.send = m.send[:0]
	switch {
	case m.work.reserve:
		m.work.reserve = false
		r.Reserve = m.k() + 1
	case m.released:
		m.released = false
		r.Released = m.round
	default:
		r.Queries = m.Queries()
		r.Finished = m.saidDone && m.all(func(e *edge) bool { return e.done })
	}
	return r, nil
}

// Queries advances the local work and returns the open queries, as [Machine.Ready] does. If there are none, call Ready.
func (m *Machine) Queries() []zoest.Query {
	for m.work.local && m.err == nil {
		if open := m.est.Next(); len(open) > 0 {
			return open
		}
		m.nextStage()
	}
	return nil
}

// Answer takes the losses of the open queries, in order. In a private run it replaces a loss that is not [zoest.Usable]
// with the sample's [zoest.Estimator.Offset], usually 0, and counts the failure, because a missing answer would reveal
// information about the data. In other runs it returns an error for such a loss and changes nothing.
func (m *Machine) Answer(losses ...float64) error {
	if !m.work.local {
		return errors.New("admm: unexpected answer: no query is open")
	}
	bad := 0
	if !m.cfg.NonPrivate {
		m.counts.losses = append(m.counts.losses[:0], losses...)
		losses = m.counts.losses
		for i, q := range m.est.Next() {
			if i < len(losses) && !zoest.Usable(losses[i]) {
				losses[i] = m.est.Offset(q.Sample)
				bad++
			}
		}
	}
	if err := m.est.Answer(losses...); err != nil {
		return fmt.Errorf("admm: round %d: %w", m.round, err)
	}
	m.counts.queries += int64(len(losses))
	m.counts.failed += int64(bad)
	return nil
}

// counts are those of the losses of a run.
type counts struct {
	queries, failed int64
	losses          []float64 // scratch space of Answer
}

// Model returns a copy of the client's model: the released x_i, including noise.
func (m *Machine) Model() []float32 { return m.AppendModel(nil) }

// AppendModel appends the result of [Machine.Model] to dst and returns the extended slice.
func (m *Machine) AppendModel(dst []float32) []float32 { return append(dst, m.x...) }

// Posted returns the message to the i-th neighbor that carries one of the last two releases. The slices of the message
// stay valid until the machine begins the second release after that release. Until then, other goroutines may call
// Posted, too.
func (m *Machine) Posted(i, round int) Message {
	out := m.out[round%2]
	return Message{Kind: Release, From: m.client(), To: m.cfg.Neighbors[i], Round: round, Vector: out.Vector, Grid: out.Grid}
}

// Room is memory that a machine needs only while it works. The zero value is empty.
type Room struct {
	send      []Message
	estimator zoest.Room
}

// Lend gives the machine a room to use until the next call of Lend, and takes back the message buffer of the last one. With
// Lend, a goroutine needs only one room for all its machines: it calls Lend with this room before it drives a machine, and
// again when the machine has no open queries. Lend keeps unsent messages.
//
//go:noinline
func (m *Machine) Lend(room *Room) {
	before := m.send
	m.send, room.send = append(room.send[:0], before...), before[:0]
	m.est.Lend(&room.estimator)
}

// Status returns the machine's progress.
func (m *Machine) Status() Status {
	st := Status{Round: m.round, Queries: m.counts.queries, Failed: m.counts.failed, Complete: m.round == m.last(),
		Compared: m.measured.round, ConsensusError: m.measured.error}
	for i := range m.edges {
		e := &m.edges[i]
		if !m.dropped(i) && (m.work.due && !m.begun && !e.probed || !m.work.due && !m.work.local && !m.arrived(e)) {
			st.Waiting = append(st.Waiting, e.peer)
		}
	}
	return st
}

// Outgrown returns the number of the first release of this process that was clipped to the public bound, because the
// run diverges or a neighbor drives the model away; 0 for none.
func (m *Machine) Outgrown() int { return m.outgrown }

// Heard returns the highest release of a neighbor that this client has ever held; 0 if it has held none or has no such
// neighbor.
func (m *Machine) Heard(peer int) int { return m.known(peer).heard }

// Begun returns the number of the release in progress, or of the latest release if none is in progress.
func (m *Machine) Begun() int {
	if m.work.local || m.work.due {
		return m.round + 1
	}
	return m.round
}

func (m *Machine) last() int { return m.cfg.Last() }

// arrived reports whether the round in progress has the message that it needs from an edge.
func (m *Machine) arrived(e *edge) bool {
	return e.holds(m.round)
}

// advance proceeds until an input is missing, a release must be reserved, or a release is made.
func (m *Machine) advance() error {
	for m.err == nil && !m.work.reserve && !m.released {
		switch {
		case m.work.local:
			if len(m.Queries()) > 0 {
				return nil
			}
		case m.work.due:
			if !m.begun && !m.all(func(e *edge) bool { return e.probed }) {
				return nil
			}
			if !m.work.aimed {
				m.aim()
				m.work.reserve = m.err == nil && m.private()
				continue
			}
			m.commit()
		case !m.all(m.arrived):
			return nil
		case m.round == m.last():
			m.compare()
			m.sayDone()
			return nil
		default:
			if m.round > 0 {
				m.dropImpossible()
				m.compare()
				m.updateZ()
			}
			m.startRound()
		}
	}
	return m.err
}

// all reports whether a condition is true for all neighbors that are not in quarantine.
func (m *Machine) all(fulfilled func(*edge) bool) bool {
	for i := range m.edges {
		if !m.dropped(i) && !fulfilled(&m.edges[i]) {
			return false
		}
	}
	return true
}

// private reports whether the release in progress has noise and a privacy cost.
func (m *Machine) private() bool { return m.touchesData() && !m.cfg.NonPrivate }
