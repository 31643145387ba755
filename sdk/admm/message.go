package admm

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Kind is the type of a [Message]. The values of the constants are part of the wire format.
type Kind uint8

const (
	Done       Kind = 1 // the sender needs nothing more and is about to exit
	Release    Kind = 2 // the release of a round, the same for all neighbors, in Vector or Grid
	Probe      Kind = 3 // the sender just started: its last release, and the receiver's highest release that it held
	Conflict   Kind = 4 // evidence of equivocation, or a notice of quarantine; only for drivers
	ProbeReply Kind = 5 // the answer to a Probe; encoded as a Probe marked as resent
)

var kindNames = map[Kind]string{Done: "done", Release: "release", Probe: "probe",
	Conflict: "conflict", ProbeReply: "probe reply"}

// String returns the name of a kind, or the number of an unknown kind.
func (k Kind) String() string { return cmp.Or(kindNames[k], fmt.Sprintf("kind %d", uint8(k))) }

// Message is a message from one neighbor to another.
type Message struct {
	Kind     Kind
	From, To int // client numbers; not encoded, because the transport knows both ends

	Round       int    // the release that the message is about; of Probe, ProbeReply and Done: the sender's last release
	Held        int    // of Probe, ProbeReply and a notice: the highest release of the receiver that the sender ever held, or 0
	Resent      bool   // set in a Release or Done that is repeated because the receiver lacks it; never answered
	Incarnation uint64 // of the sender of a Probe, and in a ProbeReply that of the Probe; see Config

	// Vector has length d: the sender's release x_j. In rounds on a grid it is empty, and Grid holds the
	// number of steps by which each coordinate moved since the sender's last release.
	Vector []float32
	Grid   []int32

	Signed Signed
}

// Signed holds data that drivers sign and check (see package signed). The machine ignores it.
type Signed struct {
	Own         []byte // a signed release of the sender: that of Round, or its last one; in a notice: the receiver's last one
	Proof       []byte // proves a claim: a signed release of the receiver
	Other       []byte // a Probe's checkpoint of the sender, a ProbeReply's signed.Earlier, a Conflict's second release
	Countersign []byte // in a Done: the sender's countersignature of the receiver's last release
}

// Repeats reports whether m is the release of the message before, for another neighbor. Both then have the same bytes.
func (m *Message) Repeats(before *Message) bool {
	return m.Kind == Release && m.Kind == before.Kind && m.Round == before.Round && m.Resent == before.Resent
}

// Payload returns the message's vectors without copying them.
func (m *Message) Payload() Payload { return Payload{m.Vector, m.Grid} }

// Payload is a release in one of two forms: Vector or Grid. The field of the other form is empty.
type Payload struct {
	Vector []float32
	Grid   []int32
}

// Equal reports whether two payloads have the same bits.
func (p Payload) Equal(q Payload) bool {
	return slices.Equal(p.Grid, q.Grid) && slices.EqualFunc(p.Vector, q.Vector, func(a, b float32) bool {
		return math.Float32bits(a) == math.Float32bits(b)
	})
}

func (p *Payload) set(q Payload) {
	p.Vector = append(p.Vector[:0], q.Vector...)
	p.Grid = append(p.Grid[:0], q.Grid...)
}

// Exactly-once delivery: what a client holds of its neighbors, and which messages it sends again.

// edge is one neighbor j. It takes only 64 bytes, because a network may have millions of edges. Its vectors are in the
// machine, see part.
type edge struct {
	peer  int
	index int    // position among the edges
	have  [2]int // the rounds of the received releases; 0: none
	heard int    // the highest release of j that this client ever held
	cut   int    // the first release made without j; 0 while the edge is in use

	answered int // the round (last+1 for Done) that was resent since the last tick; 0: none

	// probed is true if j reported which release of this client it holds, and without Config.Probe. Before, this client
	// sends j only probes, because its state may have been rolled back, and its releases may be made already.
	probed bool
	done   bool  // j reported that it needs nothing more
	grid   uint8 // bit n: release have[n] is a change on the grid
}

// at returns the index of the slot that holds the neighbor's release of a round, or -1 if neither slot does.
func (e *edge) at(round int) int { return slices.Index(e.have[:], round) }

func (e *edge) holds(round int) bool { return round == 0 || e.at(round) >= 0 }

func (m *Machine) edge(peer int) *edge {
	i, known := slices.BinarySearch(m.cfg.Neighbors, peer)
	if !known {
		return nil
	}
	return &m.edges[i]
}

// known returns the edge to a neighbor, or stranger if there is no such neighbor. The caller must not change it.
func (m *Machine) known(peer int) *edge { return cmp.Or(m.edge(peer), stranger) }

var stranger = &edge{index: -1}

// part returns the d numbers of edge i in v, which has d numbers for each edge, or an empty slice if v is empty.
func part[T any](v []T, i, d int) []T {
	if len(v) == 0 {
		return nil
	}
	return v[i*d : (i+1)*d : (i+1)*d]
}

// held returns the neighbor's release that an edge holds in one of its two slots.
func (m *Machine) held(e *edge, at int) Payload {
	d, in := len(m.x), m.in[at]
	if e.grid&(1<<at) != 0 {
		return Payload{Grid: part(in.Grid, e.index, d)}
	}
	return Payload{Vector: part(in.Vector, e.index, d)}
}

func (m *Machine) hold(e *edge, at, round int, p Payload) {
	in, n := &m.in[at], len(m.edges)*len(m.x)
	if len(p.Grid) > 0 && in.Grid == nil {
		in.Grid = make([]int32, n)
	}
	if len(p.Vector) > 0 && in.Vector == nil {
		in.Vector = make([]float32, n)
	}
	e.have[at] = round
	if e.grid &^= 1 << at; len(p.Grid) > 0 {
		e.grid |= 1 << at
	}
	to := m.held(e, at)
	copy(to.Vector, p.Vector)
	copy(to.Grid, p.Grid)
}

// Receive takes a neighbor's message. Messages may arrive twice, late, or one round early. An invalid message changes
// nothing, and the error names its sender. Receive copies the message's slices.
func (m *Machine) Receive(msg Message) error {
	e := m.edge(msg.From)
	if e == nil {
		return fmt.Errorf("admm: the sender is client %d, want one of the neighbors %v", msg.From, m.cfg.Neighbors)
	}
	if m.dropped(e.index) {
		return errQuarantine
	}
	switch msg.Kind {
	case Probe, ProbeReply:
		return m.receiveProbe(e, msg)
	case Done:
		return m.receiveDone(e, msg)
	case Release:
		return m.receiveRelease(e, &msg)
	}
	return fmt.Errorf("admm: found a message of kind %v from client %d, want kind %v", msg.Kind, msg.From, Release)
}

func (m *Machine) receiveDone(e *edge, msg Message) error {
	if msg.Round != m.last() {
		return fmt.Errorf("admm: neighbor %d reports completion after round %d, want round %d", msg.From, msg.Round, m.last())
	}
	if m.round < msg.Round { // j needs nothing more, so it holds this client's release of that round
		return m.rolledBack(e, msg.Round)
	}
	if e.done && m.saidDone && !msg.Resent { // j does not know that this client is done
		m.answer(e, m.last()+1)
	}
	e.done = true
	return nil
}

func (m *Machine) receiveRelease(e *edge, msg *Message) error {
	newest := min(m.round+1, m.last())
	if msg.Round < 1 || msg.Round > newest {
		return fmt.Errorf("admm: found a message of round %d from client %d, want a round in 1..%d (the receiving "+
			"client is in round %d)", msg.Round, msg.From, newest, m.round)
	}
	if err := m.cfg.checkForm(msg.Round, msg.Payload()); err != nil {
		return fmt.Errorf("%w (sent by client %d): %w", err, msg.From, ErrImpossible)
	}
	if msg.Round < m.round { // j lacks this client's message of that round, or the message is late
		if msg.Round == m.round-1 && !msg.Resent && msg.Round != m.lost {
			m.answer(e, msg.Round)
		}
		return nil
	}
	if at := e.at(msg.Round); at >= 0 {
		if !m.held(e, at).Equal(msg.Payload()) {
			return fmt.Errorf("admm: message of round %d from client %d contradicts an earlier message", msg.Round, msg.From)
		}
		// Neighbor j restarted after its Done and lost this client's message of the round.
		if e.done && msg.Round == m.round && !msg.Resent {
			m.answer(e, msg.Round)
		}
		return nil
	}
	m.hold(e, msg.Round%2, msg.Round, msg.Payload())
	e.heard = max(e.heard, msg.Round)
	if m.saidDone && msg.Round == m.round {
		m.postDone(e, false)
	}
	return nil
}

// Tick tells the machine that some time, such as two seconds, has passed without progress. The machine repeats its last
// message to each neighbor that has not acknowledged it. It also repeats this message to each neighbor whose own
// message is missing, because such a neighbor answers with the missing message.
func (m *Machine) Tick() {
	for i := range m.edges {
		m.repeat(&m.edges[i])
	}
}

// Reached tells the machine that the connection to a neighbor has just opened. The machine at once repeats the messages
// to this neighbor that may have been lost.
func (m *Machine) Reached(peer int) {
	if e := m.edge(peer); e != nil {
		m.repeat(e)
	}
}

// repeat sends a neighbor the message that it may lack, or a message whose answer this client lacks.
func (m *Machine) repeat(e *edge) {
	if m.dropped(e.index) {
		return
	}
	e.answered = 0
	if !e.probed {
		m.probe(e)
	}
	if m.round == 0 || e.holds(m.round) && (e.done || e.holds(m.round+1)) {
		return
	}
	m.post(e, m.round, false)
	if m.saidDone {
		m.postDone(e, false)
	}
}

// answer sends a neighbor the message of the given round, which the neighbor lacks, or a Done if the round is past the
// last. It sends at most one such answer between two ticks.
func (m *Machine) answer(e *edge, round int) {
	if e.answered == round || !e.probed {
		return
	}
	e.answered = round
	if round > m.last() {
		m.postDone(e, true)
	} else {
		m.post(e, round, true)
	}
}

// post sends a neighbor the message of one of the last two rounds.
func (m *Machine) post(e *edge, round int, resent bool) {
	if !e.probed || m.dropped(e.index) {
		return
	}
	msg := m.Posted(e.index, round)
	msg.Resent = resent
	m.send = append(m.send, msg)
}

func (m *Machine) postDone(e *edge, resent bool) {
	if m.dropped(e.index) || !m.arrived(e) {
		return
	}
	m.send = append(m.send, Message{Kind: Done, From: m.client(), To: e.peer, Round: m.last(),
		Resent: resent})
}
