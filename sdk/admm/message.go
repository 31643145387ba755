package admm

import (
	"errors"
	"fmt"
	"slices"
)

// Message is what crosses an edge.
type Message struct {
	From, To int       // client numbers
	Round    int       // the release it carries, 1 to Rounds+Cooldown
	Vector   []float32 // m_ij of eq. (message), length d; nil if Done
	Done     bool      // the sender has all that it needs and is about to leave
	Resent   bool      // sent before; of no meaning to the receiver
}

// ErrConflict marks a message that contradicts an earlier one of the same sender and round: an impostor, or a device that
// was set back to an older state.
var ErrConflict = errors.New("contradicts an earlier message")

// edge is one neighbor j as seen from client i.
type edge struct {
	peer int
	z    []float32    // z_ij
	out  [2][]float32 // m_ij of the last two rounds, by round mod 2
	in   [2][]float32 // m_ji of the last two rounds received, by round mod 2
	have [2]int       // which round in holds; 0 for none
	done bool         // j has said that it needs nothing more
}

func newEdge(peer int, z []float32) edge {
	d := len(z)
	vectors := make([]float32, 4*d)
	cut := func(i int) []float32 { return vectors[i*d : (i+1)*d : (i+1)*d] }
	return edge{peer: peer, z: z, out: [2][]float32{cut(0), cut(1)}, in: [2][]float32{cut(2), cut(3)}}
}

// holds reports whether the neighbor's message of a round is here.
func (e *edge) holds(round int) bool { return round == 0 || e.have[round%2] == round }

// Receive takes a neighbor's message. Messages may come twice, late, and one round early. A message that cannot be right
// is refused with an error that names its sender, and changes nothing. The vector is copied.
func (m *Machine) Receive(msg Message) error {
	i := slices.IndexFunc(m.edges, func(e edge) bool { return e.peer == msg.From })
	if i < 0 {
		return fmt.Errorf("admm: message from %d, want one of the neighbors %v", msg.From, m.cfg.Neighbors)
	}
	e := &m.edges[i]
	if msg.Done {
		if msg.Round != m.last() {
			return fmt.Errorf("admm: neighbor %d is done after round %d, want %d", msg.From, msg.Round, m.last())
		}
		e.done = true
		return nil
	}
	if msg.Round < 1 || msg.Round > min(m.round+1, m.last()) {
		return fmt.Errorf("admm: message of round %d from %d, want at most %d (this client is in round %d)",
			msg.Round, msg.From, min(m.round+1, m.last()), m.round)
	}
	if len(msg.Vector) != m.cfg.Estimator.Dim {
		return fmt.Errorf("admm: message of %d numbers from %d, want %d", len(msg.Vector), msg.From, m.cfg.Estimator.Dim)
	}
	if j := slices.IndexFunc(msg.Vector, notFinite); j >= 0 {
		return fmt.Errorf("admm: coordinate %d of the message from %d is %v, want a finite number", j, msg.From, msg.Vector[j])
	}
	if msg.Round < m.round {
		return nil // a straggler: this round is over
	}
	if e.holds(msg.Round) {
		if !slices.Equal(e.in[msg.Round%2], msg.Vector) {
			return fmt.Errorf("admm: message of round %d from %d %w", msg.Round, msg.From, ErrConflict)
		}
		return nil
	}
	copy(e.in[msg.Round%2], msg.Vector)
	e.have[msg.Round%2] = msg.Round
	return m.advance()
}

// Tick asks for what may have got lost to be sent again: to each neighbor that has not answered, the messages it may still
// lack. The driver decides when; a second without progress is a good start.
func (m *Machine) Tick() {
	for i := range m.edges {
		e := &m.edges[i]
		switch {
		case e.done:
			continue
		case !e.holds(m.round) && m.round > 1: // j may be one round behind, and lack the message before
			m.send(e, m.round-1, true)
			fallthrough
		case m.round > 0 && !e.holds(m.round+1):
			m.send(e, m.round, true)
		}
		if m.saidDone {
			m.ready.Send = append(m.ready.Send, Message{From: m.client(), To: e.peer, Round: m.last(), Done: true, Resent: true})
		}
	}
}

// send makes it a duty to send the message of one of the last two rounds.
func (m *Machine) send(e *edge, round int, again bool) {
	m.ready.Send = append(m.ready.Send,
		Message{From: m.client(), To: e.peer, Round: round, Vector: e.out[round%2], Resent: again})
}
