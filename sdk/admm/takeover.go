package admm

import (
	"errors"
	"fmt"
	"slices"
)

// Takeover: another device replaces one that is permanently lost with its state. The replacement device starts a new
// epoch of its member, and joins the run after a release S that no neighbor has passed.
//
//   - It starts from a public point, the median of its neighbors' models ([TakeOver]).
//   - Both ends restart each of its edges after release S, with z_ij = z_ji = rho*(x_i + x_j)/2, computed from the same
//     two vectors in Start messages: z_ij + z_ji = rho*(x_i + x_j) holds to the bit, and sum_i p_i = 0 again.
//   - Up to release S a neighbor uses the lost device's releases that have arrived, in order, and does not wait for the
//     lost device's other releases.
//   - In a private run the replacement device's updates are zero, plus the same noise as any member's.
//
// The releases before S depend on when the device was lost. The releases after S depend only on the releases before S.

// MaxTakeovers is the maximum number of times that a member's device may be replaced in one run.
const MaxTakeovers = 2

// Standing returns the Stand message to a neighbor's replacement device, with the field Incarnation unset. After a call
// of Standing the client exchanges no releases with the lost device until the replacement device starts,
// [Machine.Reached] reports a new connection, or Tick was called three times. The machine owns the slices, which are
// valid until the next call of one of the machine's methods.
func (m *Machine) Standing(peer int) Message {
	at := m.place(m.round)
	s := Message{Kind: Stand, From: m.client(), To: peer, Round: m.round, Vector: at.Vector, Grid: at.Grid}
	if e := m.edge(peer); e != nil {
		s.Held, s.Epoch = max(e.heard, m.since[e.index]), e.epoch
		e.joining = 3
	}
	return s
}

// place returns this client's model after one of its last two releases, as grid steps or as a vector.
func (m *Machine) place(round int) Payload {
	switch {
	case !m.onGrid(round) && round == m.round:
		return Payload{Vector: m.x}
	case !m.onGrid(round):
		return m.out[round%2]
	case round == m.round || !m.onGrid(m.round):
		return Payload{Grid: m.grid}
	}
	before := slices.Clone(m.grid)
	for i, change := range m.out[m.round%2].Grid {
		before[i] -= change
	}
	return Payload{Grid: before}
}

// between reports whether an edge waits for a Start after a takeover at either end. Such an edge carries no releases.
func (m *Machine) between(e *edge) bool {
	switch since := m.since[e.index]; {
	case e.joining > 0:
		return true
	case since == 0:
		return e.epoch > 0
	default:
		return m.Begun() <= since && !m.startShown(e)
	}
}

func (m *Machine) startShown(e *edge) bool {
	_, there := m.starts[e.index]
	return there
}

// arrived reports whether the round in progress has the message that it needs from an edge.
func (m *Machine) arrived(e *edge) bool {
	switch since := m.since[e.index]; {
	case m.round < since:
		return true
	case m.round == since && since > 0:
		return m.startShown(e)
	}
	ended := m.endings[e.index]
	return e.holds(m.round) || ended > 0 && m.round > ended
}

// TakeOver returns the machine of a replacement device, from the Stand messages of at least one neighbor, in any order.
// cfg.Epoch must be 1..[MaxTakeovers], and cfg.Releases must be set. Before the first call of Ready, store and show
// [Machine.State] as after a release.
func TakeOver(cfg Config, neighbors []Message) (*Machine, error) {
	switch {
	case !cfg.Releases || cfg.Epoch < 1 || cfg.Epoch > MaxTakeovers:
		return nil, fmt.Errorf("admm: takeover: Epoch is %d and Releases is %v, want Epoch in 1..%d and Releases true",
			cfg.Epoch, cfg.Releases, MaxTakeovers)
	case len(neighbors) == 0:
		return nil, errors.New("admm: takeover: found no Stand message, want at least one")
	}
	m, err := New(cfg)
	if err != nil {
		return nil, err
	}
	m.send = m.send[:0]
	entry := 1
	for i := range neighbors {
		s := &neighbors[i]
		if err := m.CheckStanding(s); err != nil {
			return nil, err
		}
		entry = max(entry, s.Round, s.Held+1)
	}
	if block := 1 + cfg.Mixing; entry < m.cfg.Learning() { // between two blocks of mixing
		entry = (entry + block - 1) / block * block
	}
	m.round = min(entry, m.last())
	m.recovered = m.round
	m.stand(neighbors)
	clear(m.z)
	clear(m.peerZ)
	clear(m.base)
	for i := range m.edges {
		m.since[i] = m.round
	}
	m.start()
	return m, nil
}

// CheckStanding returns an error if a Stand message is invalid.
func (m *Machine) CheckStanding(s *Message) error {
	if last := m.farEnd(); s.Round < 0 || s.Round > last || s.Held < 0 || s.Held > last {
		return fmt.Errorf("admm: a neighbor reports its own release %d and release %d of this client, want 0..%d for "+
			"each", s.Round, s.Held, last)
	}
	return m.checkPlace(s.Round, s.Payload())
}

// checkPlace returns an error if no honest member can have the given model after the given release.
func (m *Machine) checkPlace(round int, at Payload) error {
	if err := m.checkForm(round, at, -1); err != nil {
		return err
	}
	b := m.cfg.boundOf(round)
	for c, n := range at.Grid {
		if low, high := b.steps(m.cfg.startAt(c)); n < low || n > high {
			return impossible("admm: coordinate %d of the model after release %d is step %d of the grid, want "+
				"%d to %d", c, round, n, low, high)
		}
	}
	if len(at.Vector) > 0 {
		return m.cfg.Impossible(round, at)
	}
	return nil
}

// stand moves the client to the coordinate-wise median of its neighbors' models, so that no single malicious neighbor
// can choose the point.
func (m *Machine) stand(neighbors []Message) {
	values := make([]float64, len(neighbors))
	for c := range m.x {
		for i := range neighbors {
			values[i] = float64(m.coordinate(neighbors[i].Payload(), nil, c))
		}
		slices.Sort(values)
		m.x[c] = float32((values[(len(values)-1)/2] + values[len(values)/2]) / 2)
	}
	out := &m.out[m.round%2]
	if m.grid != nil {
		b := m.cfg.boundOf(m.round)
		for c, x := range m.x {
			m.grid[c] = int32(b.onGrid(m.cfg.startAt(c), m.quantize(x)))
		}
	}
	if m.onGrid(m.round) {
		for c, n := range m.grid {
			m.x[c] = m.dequantize(n)
		}
		out.set(Payload{Grid: m.grid})
	} else {
		out.set(Payload{Vector: m.x})
	}
	copy(m.mean, m.x)
}

// postStart sends a neighbor this client's model at the restart of their edge.
func (m *Machine) postStart(e *edge) {
	since := m.since[e.index]
	if m.dropped(e.index) || m.round < since || m.round > since+1 || since == m.lost {
		return
	}
	at := m.place(since) // the next release may be made before this message is sent
	m.send = append(m.send, Message{Kind: Start, From: m.client(), To: e.peer, Round: since, Epoch: m.cfg.Epoch,
		Vector: slices.Clone(at.Vector), Grid: slices.Clone(at.Grid)})
}

// receiveStart handles the Start of a replaced neighbor, and the answer to this client's own Start.
func (m *Machine) receiveStart(e *edge, msg *Message) error {
	switch {
	case !m.cfg.Releases:
		return fmt.Errorf("admm: unexpected %v from client %d: in this run, messages carry no releases", msg.Kind, msg.From)
	case msg.Epoch > MaxTakeovers:
		return impossible("admm: neighbor %d starts with epoch %d, want at most %d", msg.From, msg.Epoch, MaxTakeovers)
	case msg.Epoch < e.epoch:
		return fmt.Errorf("admm: neighbor %d starts at epoch %d, but had already reached epoch %d", msg.From, msg.Epoch, e.epoch)
	case msg.Round < 1 || msg.Round > m.farEnd():
		return fmt.Errorf("admm: neighbor %d starts after release %d, want a release in 1..%d", msg.From, msg.Round, m.farEnd())
	}
	at := msg.Payload()
	if err := m.checkPlace(msg.Round, at); err != nil {
		return err
	}
	since := m.since[e.index]
	switch {
	case msg.Round < since: // the edge restarts after the later of the two releases
		return nil
	case msg.Round == since && (m.round > since || m.local || m.due): // the neighbor may lack this client's Start
		m.answerStart(e)
		return nil
	case msg.Round > since && msg.Epoch == 0: // the neighbor answers a device that replaced this one
		return fmt.Errorf("admm: neighbor %d starts after release %d, but has not replaced a device", msg.From, msg.Round)
	case msg.Round > since && (m.round > msg.Round || m.round == msg.Round && (m.local || m.due)):
		return &LateError{fmt.Errorf("admm: neighbor %d starts after release %d, but this client has begun release "+
			"%d with another device of that neighbor", e.peer, msg.Round, m.Begun())}
	}
	e.joining = 0
	if msg.Epoch > e.epoch {
		e.epoch, e.heard = msg.Epoch, min(e.heard, msg.Round)
	}
	if since != msg.Round {
		m.since[e.index] = msg.Round
		for at, round := range e.have { // later releases of the lost device belong to another edge
			if round > msg.Round {
				e.have[at] = 0
			}
		}
	}
	if old, there := m.starts[e.index]; there && old.Epoch == msg.Epoch && since == msg.Round && !old.Payload().Equal(at) {
		return fmt.Errorf("admm: the start message after release %d from client %d %w", msg.Round, msg.From, errConflict)
	}
	m.starts[e.index] = Message{Epoch: msg.Epoch, Vector: slices.Clone(at.Vector), Grid: slices.Clone(at.Grid)}
	m.answerStart(e)
	return nil
}

// answerStart sends this client's Start to a neighbor, at most once between two ticks.
func (m *Machine) answerStart(e *edge) {
	if since := m.since[e.index]; e.answered != -since {
		e.answered = -since
		m.postStart(e)
	}
}

// begin initializes an edge that restarts after the release of this round. The other end of the edge computes the same
// numbers.
func (m *Machine) begin(e *edge) {
	at, d := m.starts[e.index], len(m.x)
	delete(m.starts, e.index)
	z, base := part(m.z, e.index, d), part(m.base, e.index, d)
	copy(z, at.Vector)
	copy(base, at.Grid)
	for c, n := range at.Grid {
		z[c] = m.dequantize(n)
	}
	for c, x := range m.x {
		z[c] = float32(m.cfg.Rho/2) * (x + z[c])
	}
	clamp(z)
	copy(part(m.peerZ, e.index, d), z)
	clear(part(m.flow, e.index, d))
	e.heard = max(e.heard, m.round)
}

// LateError is the error for a Start that comes too late: the neighbor's replacement device would start after a release
// for which this client already works with another device of the neighbor. The driver must drop the edge.
type LateError struct{ error }
