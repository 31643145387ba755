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
	Resent   bool      // an answer to a message that showed that the sender lacks this one; itself never answered
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

	answered int // the round (last+1 for Done) that was sent again since the last tick; 0 for none
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
		if e.done && m.saidDone && !msg.Resent { // j has not heard that this client is done as well
			m.answer(e, m.last()+1)
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
	if j := slices.IndexFunc(msg.Vector, outOfRange); j >= 0 {
		return fmt.Errorf("admm: coordinate %d of the message from %d is %v, want a number of size at most %v",
			j, msg.From, msg.Vector[j], limit)
	}
	if msg.Round < m.round {
		if msg.Round == m.round-1 && !msg.Resent { // j stands one round behind: mine of that round has not arrived
			m.answer(e, msg.Round)
		}
		return nil
	}
	if e.holds(msg.Round) {
		if !slices.Equal(e.in[msg.Round%2], msg.Vector) {
			return fmt.Errorf("admm: message of round %d from %d %w", msg.Round, msg.From, ErrConflict)
		}
		return nil
	}
	copy(e.in[msg.Round%2], msg.Vector)
	e.have[msg.Round%2] = msg.Round
	return nil
}

// Tick sends again what may have got lost: this client's last message, to each neighbor whose next one, which would
// acknowledge it, has not arrived, and to each that is one behind, which answers with what is missing. The driver decides
// when; two seconds without progress is a good start.
func (m *Machine) Tick() {
	for i := range m.edges {
		e := &m.edges[i]
		e.answered = 0
		if e.done || m.round == 0 || e.holds(m.round) && e.holds(m.round+1) {
			continue
		}
		m.post(e, m.round, false)
		if m.saidDone {
			m.post(e, m.last()+1, false)
		}
	}
}

// answer sends a message again to a neighbor that turns out to lack it: at most once between two ticks.
func (m *Machine) answer(e *edge, round int) {
	if e.answered != round {
		e.answered = round
		m.post(e, round, true)
	}
}

// post makes it a duty to send the message of one of the last two rounds, or Done for the round after the last.
func (m *Machine) post(e *edge, round int, again bool) {
	msg := Message{From: m.client(), To: e.peer, Round: round, Resent: again}
	if round > m.last() {
		msg.Round, msg.Done = m.last(), true
	} else {
		msg.Vector = e.out[round%2]
	}
	m.send = append(m.send, msg)
}
