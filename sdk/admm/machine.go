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
// It holds the numbers of its estimator (see [zoest.Estimator]), 4d of its own, 5d for each neighbor, and 2d 64-bit integers
// if the run is private; it allocates them once.
type Machine struct {
	cfg   Config
	est   *zoest.Estimator
	mech  *dpmech.Mechanism // nil if NonPrivate
	edges []edge            // in the order of cfg.Neighbors

	round int       // k: releases made, and the round in progress
	x     []float32 // x_i,k: the last release
	phi   []float32 // the local iterate phi^t
	s     []float32 // sum of the estimates so far, then the update s_i,k
	p     []float32 // the frozen penalty p_i,k
	local bool      // between the start of a round's local work and its release
	stage int       // of the local work: 0 fills the table, t is the t-th local step

	send     []Message // duties not yet handed over
	released bool      // a release has been made and not yet handed over: nothing goes on before that
	saidDone bool
	err      error
	losses   []float64 // scratch of Answer
	queries  int64
	failed   int64
}

// Ready is what a driver has to do, in the order of the fields.
type Ready struct {
	// Released is the number of a release that has just been made (its model is what Model returns), or 0.
	Released int
	// Send holds the messages to send. The slice and the vectors are the machine's, and valid until its next call.
	Send []Message
	// Queries are the questions for the oracle, at most Estimator.Window of them. They stay the same until Answer has taken
	// their losses.
	Queries []zoest.Query
	// Finished is true once all rounds are over and every neighbor has said that it is done.
	Finished bool
}

// Status is where a machine stands.
type Status struct {
	Round    int   // releases made so far, cool-down rounds included
	Waiting  []int // neighbors whose message is missing, if that is what holds the round up
	Queries  int64 // losses asked for
	Failed   int64 // of these, how many could not be had and were replaced (private runs only)
	Complete bool  // the last release is made: the model is final
}

// New returns a machine at the start of round 0.
func New(cfg Config) (*Machine, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	est, err := zoest.NewEstimator(cfg.Estimator)
	if err != nil {
		return nil, err
	}
	d := cfg.Estimator.Dim
	m := &Machine{
		cfg: cfg,
		est: est,
		x:   make([]float32, d),
		phi: make([]float32, d),
		s:   make([]float32, d),
		p:   make([]float32, d),
	}
	if !cfg.NonPrivate {
		if m.mech, err = dpmech.NewMechanism(d, cfg.Noise); err != nil {
			return nil, err
		}
	}
	copy(m.x, cfg.X0)
	for _, j := range cfg.Neighbors {
		z := slices.Clone(m.x) // z_ij,0 = rho*x_0
		vec.Scale(z, float32(cfg.Rho))
		m.edges = append(m.edges, newEdge(j, z))
	}
	return m, nil
}

// Ready goes on as far as the inputs allow, but not past a release, and returns what is to be done. A driver does it and calls
// Ready again, until nothing is asked of it but patience; then it waits for an input. An error is the end of the machine:
// its source of noise has failed, or the model has run away.
func (m *Machine) Ready() (Ready, error) {
	if err := m.advance(); err != nil {
		return Ready{}, err
	}
	r := Ready{Send: m.send}
	m.send = m.send[:0]
	if m.released {
		m.released = false
		r.Released = m.round
		return r, nil
	}
	if m.local {
		r.Queries = m.est.Next()
	}
	r.Finished = m.saidDone && !slices.ContainsFunc(m.edges, func(e edge) bool { return !e.done })
	return r, nil
}

// Answer takes the losses of the open queries, in their order. In a private run a loss that is not [zoest.Usable] is replaced
// by Config.FallbackLoss and counted; otherwise it is refused, all the queries stay open, and the machine is as it was.
func (m *Machine) Answer(losses ...float64) error {
	m.losses = append(m.losses[:0], losses...)
	if !m.local {
		return errors.New("admm: an answer without a question")
	}
	bad := int64(0)
	for i, loss := range m.losses {
		if zoest.Usable(loss) {
			continue
		}
		if m.cfg.NonPrivate {
			break // to be refused by the estimator
		}
		m.losses[i] = m.cfg.FallbackLoss
		bad++
	}
	if err := m.est.Answer(m.losses...); err != nil {
		return fmt.Errorf("admm: client %d, round %d: %w", m.client(), m.round, err)
	}
	m.queries += int64(len(losses))
	m.failed += bad
	return nil
}

// Model returns a copy of the released model x_i: what the client has told its neighbors, noise included.
func (m *Machine) Model() []float32 { return slices.Clone(m.x) }

// Status returns where the machine stands.
func (m *Machine) Status() Status {
	st := Status{Round: m.round, Queries: m.queries, Failed: m.failed, Complete: m.round == m.last()}
	if !m.local {
		for _, e := range m.edges {
			if !e.holds(m.round) {
				st.Waiting = append(st.Waiting, e.peer)
			}
		}
	}
	return st
}

// advance goes on until an input is needed or a release is made.
func (m *Machine) advance() error {
	for m.err == nil && !m.released {
		switch {
		case m.local:
			if len(m.est.Next()) > 0 {
				return nil
			}
			m.nextStage()
		case slices.ContainsFunc(m.edges, func(e edge) bool { return !e.holds(m.round) }):
			return nil
		case m.round == m.last():
			m.sayDone()
			return nil
		default:
			if m.round > 0 {
				m.updateZ()
			}
			m.startRound()
		}
	}
	return m.err
}
