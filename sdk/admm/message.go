package admm

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Message is what crosses an edge.
type Message struct {
	From, To int // client numbers
	Round    int // the release it carries, 1 to Rounds+Cooldown; of a Hail the number of releases the sender has made

	// Vector has length d: m_ij of eq. (message), or, with Config.Releases, the sender's release x_j. In rounds whose releases
	// lie on a grid it is nil and Grid is there instead: how many steps of the grid each coordinate has moved since the
	// sender's release before.
	Vector []float32
	Grid   []int32

	Done bool // no release, a last word: the sender has all that it needs and is about to leave
	Hail bool // no release: the sender has just started, or answers somebody who has
	Held int  // of a Hail: the highest release of the receiver that the sender holds, 0 for none
	// Life is, of a Hail, Config.Life and Device of the one who asked: the sender's own in a question, the receiver's in an answer.
	Life uint64
	// Resent marks an answer: to a hail, or to a message that showed that its sender lacks this one. It is never answered, but for a
	// hail that shows that its sender lacks this client's release, which is then sent with the same mark.
	Resent bool
}

// ErrConflict marks a message that contradicts an earlier one of the same sender and round: an impostor, or a device that
// was set back to an older state.
var ErrConflict = errors.New("contradicts an earlier message")

// RollbackError is the end of a machine of which a neighbor holds a later release than it knows of: its state was set back, by
// a disk that lost what it had confirmed, a backup, or a second device of the same name. Another release for the same round
// would be a second look at the same data, so there is none. The releases up to Held have been seen and count as spent.
type RollbackError struct {
	Client, Peer int // client numbers: whose state, and the neighbor that knows better
	Held         int // the release that the neighbor holds
	Round        int // the last one that this client knows of
}

func (e *RollbackError) Error() string {
	return fmt.Sprintf("admm: neighbor %d holds release %d of client %d, whose own state ends with %d: it was set back, and going on would release a round twice",
		e.Peer, e.Held, e.Client, e.Round)
}

// payload is what a message says of a release, in one of its two forms.
type payload struct {
	vector []float32
	grid   []int32
}

// equal reports whether two payloads have the same bits.
func (p payload) equal(q payload) bool {
	return slices.Equal(p.grid, q.grid) && slices.EqualFunc(p.vector, q.vector, func(a, b float32) bool {
		return math.Float32bits(a) == math.Float32bits(b)
	})
}

// set copies q into p's storage.
func (p *payload) set(q payload) {
	p.vector = append(p.vector[:0], q.vector...)
	p.grid = append(p.grid[:0], q.grid...)
}

// edge is one neighbor j as seen from client i.
type edge struct {
	peer  int
	z     []float32  // z_ij
	peerZ []float32  // z_ji; with Releases only
	base  []int32    // j's release that the next change on the grid starts from
	out   [2]payload // what is sent of the last two releases, by round mod 2; with Releases all edges share it
	lost  int        // the release of which out is gone with a damaged state, or 0
	in    [2]payload // releases received
	have  [2]int     // their rounds; 0 for none
	heard int        // the highest release of j that was ever held
	late  bool       // lossy: a round has gone on without j, which has not caught up since
	done  bool       // j has said that it needs nothing more
	known bool       // j has said which release of this client it holds

	device uint16 // the latest device of j that has been heard of
	teach  bool   // j has started again, and is to be told which device this is until it has answered

	answered int // the round (last+1 for Done) that was sent again since the last tick; 0 for none
}

// at returns where the neighbor's release of a round is held, or -1.
func (e *edge) at(round int) int { return slices.Index(e.have[:], round) }

// holds reports whether the neighbor's release of a round is here.
func (e *edge) holds(round int) bool { return round == 0 || e.at(round) >= 0 }

// Receive takes a neighbor's message. Messages may come twice, late, and one round early (any number of rounds early in a lossy
// run, where the newest counts). A message that cannot be right is refused with an error that names its sender, and changes
// nothing. What it points to is copied.
func (m *Machine) Receive(msg Message) error {
	i := slices.IndexFunc(m.edges, func(e edge) bool { return e.peer == msg.From })
	if i < 0 {
		return fmt.Errorf("admm: message from %d, want one of the neighbors %v", msg.From, m.cfg.Neighbors)
	}
	e := &m.edges[i]
	switch {
	case msg.Hail:
		return m.receiveHail(e, msg)
	case msg.Done:
		if msg.Round != m.last() {
			return fmt.Errorf("admm: neighbor %d is done after round %d, want %d", msg.From, msg.Round, m.last())
		}
		if m.cfg.Lossy == 0 && m.round < m.last() { // j needs nothing more: it holds this client's last release
			return m.setBack(e, m.last())
		}
		if e.done && m.saidDone && !msg.Resent { // j has not heard that this client is done as well
			m.answer(e, m.last()+1)
		}
		e.done = true
		return nil
	}
	newest := min(m.round+1, m.last())
	if m.cfg.Lossy > 0 {
		newest = m.last()
	}
	if msg.Round < 1 || msg.Round > newest {
		return fmt.Errorf("admm: message of round %d from %d, want 1 to %d (this client is in round %d)",
			msg.Round, msg.From, newest, m.round)
	}
	if err := m.checkPayload(msg); err != nil {
		return err
	}
	got := payload{msg.Vector, msg.Grid}
	if msg.Round < m.round {
		// j stands one round behind, for mine of that round has not arrived; or this is a straggler.
		if msg.Round == m.round-1 && !msg.Resent && m.cfg.Lossy == 0 && msg.Round != e.lost {
			m.answer(e, msg.Round)
		}
		return nil
	}
	if at := e.at(msg.Round); at >= 0 {
		if !e.in[at].equal(got) {
			return fmt.Errorf("admm: message of round %d from %d %w", msg.Round, msg.From, ErrConflict)
		}
		if e.done && msg.Round == m.round && !msg.Resent { // j has started again after its last word, and has lost mine of this round
			m.answer(e, msg.Round)
		}
		return nil
	}
	at := msg.Round % 2
	if m.cfg.Lossy > 0 { // beside the release of this round only the newest is kept
		at = slices.Index(e.have[:], slices.Min(e.have[:]))
		if ahead := slices.Max(e.have[:]); msg.Round > m.round && ahead > m.round {
			if ahead > msg.Round {
				return nil
			}
			at = slices.Index(e.have[:], ahead)
		}
	}
	e.in[at].set(got)
	e.have[at], e.late = msg.Round, false
	e.heard = max(e.heard, msg.Round)
	return nil
}

// checkPayload refuses what a release cannot look like.
func (m *Machine) checkPayload(msg Message) error {
	vector, grid := m.cfg.Estimator.Dim, 0
	if m.cfg.Releases && m.onGrid(msg.Round) {
		vector, grid = grid, vector
	}
	if len(msg.Vector) != vector || len(msg.Grid) != grid {
		return fmt.Errorf("admm: message of round %d from %d has %d numbers and %d grid steps, want %d and %d",
			msg.Round, msg.From, len(msg.Vector), len(msg.Grid), vector, grid)
	}
	if j := slices.IndexFunc(msg.Vector, outOfRange); j >= 0 {
		return fmt.Errorf("admm: coordinate %d of the message from %d is %v, want a number of size at most %v",
			j, msg.From, msg.Vector[j], limit)
	}
	return nil
}

// receiveHail takes the word of a neighbor that has just started, or of one that was asked by this client which has.
func (m *Machine) receiveHail(e *edge, msg Message) error {
	if msg.Round < 0 || msg.Round > m.last() || msg.Held < 0 || msg.Held > m.last() {
		return fmt.Errorf("admm: neighbor %d speaks of releases %d and %d, want 0 to %d", msg.From, msg.Round, msg.Held, m.last())
	}
	if msg.Resent && msg.Life != m.cfg.life() { // the answer to a life before: the neighbor may hold more by now
		return nil
	}
	if device := uint16(msg.Life >> deviceShift); !msg.Resent {
		if device < e.device { // j has been replaced, and the other one makes, or has made, the release that this one would make next
			m.send = append(m.send, Message{From: m.client(), To: e.peer, Round: m.round, Hail: true, Resent: true,
				Held: max(e.heard, min(msg.Round+1, m.last())), Life: msg.Life})
			return nil
		}
		if device > e.device { // what is known of the device before, and its successor does not go on from, is no more
			e.device, e.heard = device, min(e.heard, msg.Round)
		}
	}
	if msg.Held > m.round && !m.inherited(msg.Held) {
		return m.setBack(e, msg.Held)
	}
	if m.cfg.Lossy == 0 && msg.Resent && msg.Round <= e.lost && msg.Held < e.lost {
		err := fmt.Errorf("admm: neighbor %d lacks release %d, of which the kept state was damaged: neither can go on", msg.From, e.lost)
		if e.known {
			return err
		}
		m.err = err
		return nil
	}
	if msg.Resent {
		e.known, e.teach = true, false
	} else {
		m.hail(e, true, msg.Life)
		if m.cfg.Device > 0 { // j has just started, and may have forgotten which device is the latest
			e.teach = true
			m.hail(e, false, m.cfg.life())
		}
	}
	if m.cfg.Lossy > 0 || m.round == 0 {
		return nil
	}
	if !msg.Resent { // it has what its state says, and nothing that came after
		for _, r := range []int{msg.Round, msg.Round + 1} {
			if r >= 1 && r >= m.round-1 && r <= m.round && r != e.lost {
				m.post(e, r, true)
			}
		}
	} else if msg.Held < m.round {
		m.answer(e, m.round)
	}
	return nil
}

// inherited reports whether a release that a neighbor claims to hold may be one of the lost device that this one has taken the place
// of. Those of them that nobody could give back are made anew, without data.
func (m *Machine) inherited(round int) bool { return m.cfg.Device > 0 && round <= m.recovered+2 }

// setBack takes a neighbor's word that it holds a release which this client does not know of.
func (m *Machine) setBack(e *edge, held int) error {
	err := &RollbackError{Client: m.client(), Peer: e.peer, Held: held, Round: m.round}
	if e.known { // a machine that has been asked about its past before knows it better than a neighbor
		return err
	}
	m.err = err
	return nil
}

// hail tells a neighbor where this client stands and what it holds; life is that of the one who asked.
func (m *Machine) hail(e *edge, answer bool, life uint64) {
	m.send = append(m.send, Message{From: m.client(), To: e.peer, Round: m.round, Hail: true, Held: e.heard, Life: life, Resent: answer})
}

// Tick says that time has passed. What may have got lost is sent again: this client's last message, to each neighbor whose next
// one, which would acknowledge it, has not arrived, and to each that is one behind, which answers with what is missing. In
// a lossy run a round that has waited for Config.Lossy ticks closes. The driver decides when; two seconds without
// progress is a good start.
func (m *Machine) Tick() {
	if !m.local {
		m.waited++
	}
	for i := range m.edges {
		m.repeat(&m.edges[i])
	}
}

// Reached says that the way to a neighbor has just opened: to it alone, what may have got lost is sent again at once.
func (m *Machine) Reached(peer int) {
	if i := slices.IndexFunc(m.edges, func(e edge) bool { return e.peer == peer }); i >= 0 {
		m.repeat(&m.edges[i])
	}
}

// repeat sends a neighbor what it may lack, or what it may answer with what is missing here.
func (m *Machine) repeat(e *edge) {
	e.answered = 0
	if m.cfg.Witness && (!e.known || e.teach) {
		m.hail(e, false, m.cfg.life())
	}
	if m.round == 0 || e.holds(m.round) && (e.done || e.holds(m.round+1)) || m.cfg.Lossy > 0 && e.heard > m.round {
		return
	}
	m.post(e, m.round, false)
	if m.saidDone {
		m.post(e, m.last()+1, false)
	}
}

// answer sends a message again to a neighbor that turns out to lack it: at most once between two ticks.
func (m *Machine) answer(e *edge, round int) {
	if e.answered != round && !m.mute(e) {
		e.answered = round
		m.post(e, round, true)
	}
}

// mute reports whether a neighbor is to be told nothing but hails: a device that has just started again may have been replaced, and
// releases that it has kept and never sent are no longer those of its rounds. The neighbor says so, or that all is well.
func (m *Machine) mute(e *edge) bool { return m.cfg.Witness && m.cfg.Lossy == 0 && !e.known }

// post makes it a duty to send the message of one of the last two rounds, or Done for the round after the last.
func (m *Machine) post(e *edge, round int, again bool) {
	if round <= m.last() && m.mute(e) {
		return
	}
	msg := Message{From: m.client(), To: e.peer, Round: round, Resent: again}
	if round > m.last() {
		msg.Round, msg.Done = m.last(), true
	} else {
		msg.Vector, msg.Grid = e.out[round%2].vector, e.out[round%2].grid
	}
	m.send = append(m.send, msg)
}
