package monitor

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/dpmech/certificate"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/state"
)

// Config configures a monitor. Fleet and Name are required.
type Config struct {
	Fleet *sdk.Fleet // the fleet, which describes the run
	Name  string     // name of the member that the node runs

	// Score, if not nil, returns a model's mean loss on the device's data and the share of samples, in [0, 1], that the
	// model predicts correctly, or NaN for an unknown value. Score owns x. The monitor's goroutine calls Score for the
	// newest release, and spends at most a tenth of its time on that, so some releases are not scored.
	Score func(x []float32) (loss, accuracy float64)

	// Majority is the accuracy in [0, 1] of always predicting the most frequent class of Score's samples; 0 if
	// unknown.
	Majority float64

	// Asked, if not nil, is used instead of Score if only losses are available. It returns the mean loss of the queries
	// since the last call of Asked, or NaN if there were no queries. The monitor calls Asked at each release; how long
	// a call takes must not depend on the losses.
	Asked func() float64
	// Restarts, if not nil, returns how often a program that computes losses has been started again, and why it ended
	// last.
	Restarts func() (n int, last error)

	// PerRound is the number of losses that a round with data asks for, to forecast the end of the first; 0 if unknown.
	PerRound int64
	// Program is the name and version of the program, for [Status]; empty if unknown.
	Program string

	// Links, if not nil, returns the state of the connections. Several goroutines call it, up to several times a
	// second.
	Links func() []Link

	// Ledger, if not nil, has the cost of all runs on the data. The monitor reads it once a round.
	Ledger *state.Ledger
}

// Monitor watches one node. Any goroutine may call its methods.
type Monitor struct {
	cfg     Config
	now     func() time.Time
	started time.Time
	pending chan scored // the newest release that is not scored yet
	quit    chan struct{}
	wg      sync.WaitGroup

	mu         sync.Mutex // guards the fields below
	node       *sdk.Node
	ended      bool
	err        error      // error of the run
	links      []Link     // links at the end of the run
	last       sdk.Status // latest status that the node returned
	phase      Phase
	since      time.Time // when the node entered the phase in the field phase
	progressed time.Time // when the node last made progress or had to wait for neighbors
	hist       history
	compared   int   // the latest round not followed by mixing rounds whose consensus error is known
	consensus  Value // consensus error of the round in the field compared
	local      Local // values of the release that was scored last
	asked      Value // mean of the losses since the last point of the field hist
	lifetime   *certificate.Lifetime
	ledgerAt   int // the round at which the ledger was last read, plus 1; 0 if it was never read
}

type scored struct {
	round int
	x     []float32
}

// New returns the monitor of a node. Call it before [sdk.New], whose configuration needs [Monitor.Events].
func New(cfg Config) (*Monitor, error) {
	if cfg.Fleet == nil {
		return nil, errors.New("monitor: Fleet is nil")
	}
	if !slices.Contains(cfg.Fleet.Members, cfg.Name) {
		return nil, errors.New("monitor: Name matches no member of the fleet")
	}
	m := &Monitor{cfg: cfg, now: time.Now, pending: make(chan scored, 1), quit: make(chan struct{}), phase: Starting}
	m.asked = Unknown()
	m.local = Local{Loss: Unknown(), Accuracy: Unknown(), Majority: Unknown(), OfQueries: cfg.Asked != nil}
	if cfg.Majority > 0 {
		m.local.Majority = Value(cfg.Majority)
	}
	m.started, m.consensus = m.now(), Unknown()
	m.since, m.progressed = m.started, m.started
	return m, nil
}

// Events returns the events for the node's configuration; see [Both].
func (m *Monitor) Events() sdk.Events {
	return sdk.Events{
		Released: func(round int, x []float32) { m.released(round, m.cfg.Fleet.Model(x, round)) },
		Waiting: func(int, []string) {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.refresh()
		},
	}
}

// Begin starts watching a node. Call Begin once, before the node's Run, and call End after Run has returned.
func (m *Monitor) Begin(node *sdk.Node) {
	m.mu.Lock()
	m.node = node
	m.refresh()
	m.mu.Unlock()
	m.wg.Go(m.sample)
	if m.cfg.Score != nil {
		m.wg.Go(m.score)
	}
}

// End tells the monitor that the node's Run has returned err; a run that was canceled does not count as failed. After
// End the monitor shows the node's last state.
func (m *Monitor) End(err error) {
	links := m.askLinks()
	m.mu.Lock()
	if m.node == nil || m.ended {
		m.mu.Unlock()
		return
	}
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	m.refresh()
	m.ended, m.err, m.links = true, err, links
	m.since = m.now()
	if m.phase = Ended; err != nil {
		m.phase = Failed
	}
	close(m.pending)
	m.mu.Unlock()
	close(m.quit)
	m.wg.Wait()
}

// sample reads the node's state twice a second, to measure how long phases last. As long as the phase stays the same,
// the interval doubles, up to eight seconds, so that the processor of a waiting node can sleep.
func (m *Monitor) sample() {
	const often, seldom = time.Second / 2, 8 * time.Second
	wait := often
	for {
		select {
		case <-m.quit:
			return
		case <-time.After(wait):
		}
		m.mu.Lock()
		since := m.since
		m.refresh()
		if wait = min(2*wait, seldom); m.since != since {
			wait = often
		}
		m.mu.Unlock()
	}
}

// refresh reads the node's state. The caller holds m.mu.
func (m *Monitor) refresh() {
	if m.node == nil || m.ended {
		return
	}
	st := m.node.Status()
	if st.Compared > m.compared && mixed(m.cfg.Fleet, st.Compared) { // this error is known only after the round
		m.compared, m.consensus = st.Compared, Value(st.ConsensusError)
		m.hist.set(st.Compared, func(p *Point) { p.ConsensusError = m.consensus })
	}
	now := m.now()
	phase, method := Querying, m.cfg.Fleet.Method
	switch {
	case st.Done:
		phase = Serving
	case len(st.Waiting) > 0:
		phase = Waiting
	case st.Round >= method.Learning():
		phase = Cooling
	}
	if phase != m.phase || st.Round != m.last.Round {
		m.phase, m.since = phase, now
	}
	if phase != Querying || st.Queries != m.last.Queries || st.Round != m.last.Round {
		m.progressed = now
	}
	m.last = st
}

func (m *Monitor) released(round int, x []float32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.node == nil || m.ended {
		return
	}
	if m.cfg.Asked != nil {
		if asked := Value(m.cfg.Asked()); asked.Known() {
			m.local.Round, m.local.Loss = round, asked
			m.asked = asked
		}
	}
	defer m.refresh()
	if !mixed(m.cfg.Fleet, round) { // mixing rounds follow this noisy release, so it is neither drawn nor scored
		return
	}
	m.hist.add(Point{
		Round: round, Seconds: m.now().Sub(m.started).Seconds(),
		Epsilon: m.epsilon(m.node.Spend().Rho), ConsensusError: Unknown(), Loss: m.asked, Accuracy: Unknown(),
	})
	m.asked = Unknown()
	if m.cfg.Score == nil {
		return
	}
	select { // only the newest release is scored
	case <-m.pending:
	default:
	}
	m.pending <- scored{round, slices.Clone(x)}
}

func (m *Monitor) epsilon(rho float64) Value {
	p := m.cfg.Fleet.Privacy
	if p.NonPrivate {
		return Unknown()
	}
	return Value(p.Accounting.Epsilon(rho, p.Delta))
}

// score scores the newest release that is pending; the last release of a run is always scored. After scoring a release,
// score rests nine times as long as the scoring took.
func (m *Monitor) score() {
	for s := range m.pending {
		began := time.Now()
		loss, accuracy := m.callScore(s.x)
		m.mu.Lock()
		m.local.Round, m.local.Loss, m.local.Accuracy = s.round, Value(loss), Value(accuracy)
		m.hist.set(s.round, func(p *Point) { p.Loss, p.Accuracy = m.local.Loss, m.local.Accuracy })
		m.mu.Unlock()
		select {
		case <-time.After(9 * time.Since(began)):
		case <-m.quit:
		}
	}
}

// callScore calls Score and recovers from a panic. Otherwise a panic would end the node, which would reveal something
// about the node's data to its neighbors.
func (m *Monitor) callScore(x []float32) (loss, accuracy float64) {
	defer func() {
		if recover() != nil {
			loss, accuracy = math.NaN(), math.NaN()
		}
	}()
	return m.cfg.Score(x)
}

func (m *Monitor) askLinks() []Link {
	if m.cfg.Links == nil {
		return nil
	}
	return m.cfg.Links()
}

// Status returns the current state of the node.
func (m *Monitor) Status() Status {
	links := m.askLinks()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ended {
		links = slices.Clone(m.links)
	}
	m.refresh()
	f, st, now := m.cfg.Fleet, m.last, m.now()
	out := NewStatus(f, m.cfg.Name, &st)
	out.Program, out.Running, out.Phase, out.Seconds = m.cfg.Program, !m.ended, m.phase, now.Sub(m.since).Seconds()
	out.Uptime = now.Sub(m.started).Seconds()
	if m.node != nil && !m.ended && m.phase == Querying {
		out.Stalled = now.Sub(m.progressed).Seconds()
	}
	out.Compared, out.ConsensusError = m.compared, m.consensus
	if m.err != nil {
		out.Fault = m.err.Error()
	}
	for _, n := range st.Neighbors {
		one := Neighbor{
			Name: n.Name, Round: n.Round, Behind: st.Round - n.Round, Missing: slices.Contains(st.Waiting, n.Name), Refused: n.Refused,
		}
		if q := n.Quarantine; q.Release > 0 {
			one.Quarantine = &Quarantine{q.Release, q.Why}
		}
		if i := slices.IndexFunc(links, func(l Link) bool { return l.Name == n.Name }); i >= 0 {
			one.Link = &links[i]
		}
		out.Neighbors = append(out.Neighbors, one)
	}
	if !f.Privacy.NonPrivate {
		out.Privacy = m.privacy()
	}
	local := m.local
	local.Losses, local.FirstRound = LossesOf(&st, m.cfg.Restarts), m.firstRound(out.Seconds)
	if m.cfg.Score != nil || m.cfg.Asked != nil || f.Privacy.NonPrivate || local.Losses != (Losses{}) || local.FirstRound > 0 {
		out.Local = &local
	}
	out.obstacle = m.obstacle(out.Neighbors)
	out.Ready = out.obstacle == ""
	findAlike(out.Neighbors) // last, because obstacle names an address
	return out
}

// firstRound returns [Local].FirstRound. seconds is the time since the node began to ask. The caller holds m.mu.
func (m *Monitor) firstRound(seconds float64) float64 {
	if m.ended || m.phase != Querying || m.last.Round > 0 || m.last.Queries == 0 {
		return 0
	}
	return seconds * max(0, float64(m.cfg.PerRound)/float64(m.last.Queries)-1)
}

// privacy returns the spent and planned privacy budget of the run, or nil if the run is not private. The caller holds
// m.mu.
func (m *Monitor) privacy() *Privacy {
	var spent dpmech.Total
	if m.node != nil {
		spent = m.node.Spend()
	}
	if l := m.cfg.Ledger; l != nil && m.ledgerAt != m.last.Round+1 {
		m.ledgerAt = m.last.Round + 1
		m.lifetime = l.Lifetime(m.cfg.Fleet.Privacy.Delta)
	}
	return NewPrivacy(m.cfg.Fleet, spent, m.lifetime)
}

func (m *Monitor) history() history {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.refresh()
	return m.hist.snapshot()
}

// obstacle returns what keeps the node from taking part, or "" if nothing does. Either the run has not begun or is
// over, or the node has neighbors but, as far as connections are known, is connected neither to any of them nor to a
// broker that stores messages for them. The caller holds m.mu.
func (m *Monitor) obstacle(neighbors []Neighbor) string {
	connected := func(n Neighbor) bool { return n.Link != nil && (n.Link.Connected || n.Link.Silent) }
	switch {
	case m.node == nil:
		return "the run has not begun"
	case m.err != nil:
		return m.err.Error()
	case m.ended:
		return "the run is over"
	case len(neighbors) > 0 && m.cfg.Links != nil && !slices.ContainsFunc(neighbors, connected):
		reason := ""
		if l := neighbors[0].Link; l != nil && l.Fault != "" {
			reason = fmt.Sprintf(" (%q: %s)", neighbors[0].Name, l.Fault)
		}
		return "no neighbor is connected" + reason
	}
	return ""
}

// Handler returns a handler for the monitor's data, see the package comment. The handler refuses the requests that
// [Guard] refuses.
func (m *Monitor) Handler() http.Handler { return handler(m) }

func (m *Monitor) statuses() []Status { return []Status{m.Status()} }
func (m *Monitor) reply() any         { return m.Status() }
