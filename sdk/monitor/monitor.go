package monitor

import (
	"context"
	"errors"
	"math"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/state"
)

// Config says what a monitor watches. Fleet and Name are required.
type Config struct {
	Fleet *sdk.Fleet // the run
	Name  string     // the member that the node is

	// Score, if not nil, says what a model is worth on the device's own data: the mean loss, and the share of samples in [0, 1] that
	// it gets right; NaN for what is not known. x is the callee's. It is called from a goroutine of the monitor's own, for
	// the newest release, and at most a tenth of the time: rounds that are over sooner go without. A panic counts as not known.
	Score func(x []float32) (loss, accuracy float64)

	// Links, if not nil, returns the state of the connections. It is called from several goroutines, often.
	Links func() []Link

	// Ledger, if not nil, is asked once a round what all runs on the data have spent.
	Ledger *state.Ledger
}

// Monitor watches one node. Its methods may be called from any goroutine.
type Monitor struct {
	cfg        Config
	accounting dpmech.Accounting
	planned    float64 // epsilon of all rounds
	now        func() time.Time
	started    time.Time
	pending    chan scored // the newest release that is not scored yet
	quit       chan struct{}
	work       sync.WaitGroup

	mu       sync.Mutex // guards what follows
	node     *sdk.Node
	ended    bool
	err      error      // of the run
	links    []Link     // when it had ended
	last     sdk.Status // as last seen
	phase    Phase
	since    time.Time // of phase
	moved    time.Time // when the node was last seen to work, or to wait with good reason
	hist     history
	best     Local // of the newest release that has been scored
	lifetime *Lifetime
	lifeOf   int // the round after which the ledger was asked, plus 1
}

// scored is a release to be scored.
type scored struct {
	round int
	x     []float32
}

// New returns the monitor of a node that is about to be made.
func New(cfg Config) (*Monitor, error) {
	if cfg.Fleet == nil {
		return nil, errors.New("monitor: Fleet is nil")
	}
	if !slices.Contains(cfg.Fleet.Members, cfg.Name) {
		return nil, errors.New("monitor: Name is not one of the fleet's members")
	}
	m := &Monitor{cfg: cfg, now: time.Now, pending: make(chan scored, 1), quit: make(chan struct{}), phase: Starting}
	m.best = Local{Loss: Unknown(), Accuracy: Unknown()}
	m.started = m.now()
	m.since, m.moved = m.started, m.started
	if p := cfg.Fleet.Privacy; !p.NonPrivate {
		m.accounting = p.Accounting
		m.planned = m.accounting.Epsilon(cfg.Fleet.Rho(), p.Delta)
	}
	return m, nil
}

// Observer returns the observer to make the node with. It passes on to next what it is told.
func (m *Monitor) Observer(next sdk.Observer) sdk.Observer {
	return sdk.Observer{
		Released: func(round int, x []float32) {
			m.released(round, x)
			if next.Released != nil {
				next.Released(round, x)
			}
		},
		Waiting: func(round int, neighbors []string) {
			m.mu.Lock()
			m.look()
			m.mu.Unlock()
			if next.Waiting != nil {
				next.Waiting(round, neighbors)
			}
		},
	}
}

// Begin starts to watch a node: call it once, before its Run, and End after it.
func (m *Monitor) Begin(node *sdk.Node) {
	m.mu.Lock()
	m.node = node
	m.look()
	m.mu.Unlock()
	m.work.Go(m.sample)
	if m.cfg.Score != nil {
		m.work.Go(m.score)
	}
}

// End says that the node's Run is over, and what it returned; a run that was cancelled has not failed. The monitor goes on telling how the node stood then.
func (m *Monitor) End(err error) {
	var links []Link
	if m.cfg.Links != nil {
		links = m.cfg.Links()
	}
	m.mu.Lock()
	if m.node == nil || m.ended {
		m.mu.Unlock()
		return
	}
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	m.look()
	m.ended, m.err, m.links = true, err, links
	m.since = m.now()
	if m.phase = Ended; err != nil {
		m.phase = Failed
	}
	m.mu.Unlock()
	close(m.quit)
	m.work.Wait()
}

// sample looks at the node twice a second, so that what it is doing can be dated; less and less often while it does the same, down
// to every eight seconds, for a node that waits should let its processor sleep.
func (m *Monitor) sample() {
	const often, seldom = time.Second / 2, 8 * time.Second
	wait := often
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		select {
		case <-m.quit:
			return
		case <-timer.C:
		}
		m.mu.Lock()
		since := m.since
		m.look()
		if wait = min(2*wait, seldom); m.since != since {
			wait = often
		}
		m.mu.Unlock()
		timer.Reset(wait)
	}
}

// look takes in how the node stands. m.mu is held.
func (m *Monitor) look() {
	if m.node == nil || m.ended {
		return
	}
	st := m.node.Status()
	m.compared(st)
	now := m.now()
	phase := m.phaseOf(st)
	if phase != m.phase || st.Round != m.last.Round {
		m.phase, m.since = phase, now
	}
	if phase != Querying || st.Queries != m.last.Queries || st.Round != m.last.Round {
		m.moved = now
	}
	m.last = st
}

func (m *Monitor) phaseOf(st sdk.Status) Phase {
	switch {
	case st.Done:
		return Serving
	case len(st.Waiting) > 0:
		return Waiting
	case st.Round >= m.cfg.Fleet.Method.Rounds:
		return Cooling
	}
	return Querying
}

// compared notes how far the neighbors were, which is known after the round. m.mu is held.
func (m *Monitor) compared(st sdk.Status) {
	if st.Compared > m.last.Compared {
		m.hist.set(st.Compared, func(p *Point) { p.Disagreement = Value(st.Disagreement) })
	}
}

// released takes in a release.
func (m *Monitor) released(round int, x []float32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.node == nil || m.ended {
		return
	}
	m.hist.add(Point{
		Round: round, Seconds: m.now().Sub(m.started).Seconds(),
		Epsilon: m.epsilon(m.node.Spend()), Disagreement: Unknown(), Loss: Unknown(), Accuracy: Unknown(),
	})
	m.look()
	if m.cfg.Score == nil {
		return
	}
	select { // only the newest release is worth a score
	case <-m.pending:
	default:
	}
	m.pending <- scored{round, slices.Clone(x)}
}

// epsilon returns what a spend amounts to; unknown if the run is not private.
func (m *Monitor) epsilon(rho float64) Value {
	p := m.cfg.Fleet.Privacy
	if p.NonPrivate {
		return Unknown()
	}
	return Value(m.accounting.Epsilon(rho, p.Delta))
}

// score scores releases, the newest each time, and rests nine times as long as it has worked.
func (m *Monitor) score() {
	for {
		select {
		case s := <-m.pending:
			began := time.Now()
			m.note(s)
			select {
			case <-time.After(9 * time.Since(began)):
				continue
			case <-m.quit:
			}
		case <-m.quit:
		}
		select { // the last model is scored in any case
		case s := <-m.pending:
			m.note(s)
		default:
		}
		return
	}
}

// note scores one release.
func (m *Monitor) note(s scored) {
	loss, accuracy := m.ask(s.x)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.best.Round, m.best.Loss, m.best.Accuracy = s.round, Value(loss), Value(accuracy)
	m.hist.set(s.round, func(p *Point) { p.Loss, p.Accuracy = Value(loss), Value(accuracy) })
}

// ask calls Score. A node that dies of its data would tell its neighbors about them.
func (m *Monitor) ask(x []float32) (loss, accuracy float64) {
	defer func() {
		if recover() != nil {
			loss, accuracy = math.NaN(), math.NaN()
		}
	}()
	return m.cfg.Score(x)
}

// Status returns where the node stands.
func (m *Monitor) Status() Status {
	var links []Link
	if m.cfg.Links != nil {
		links = m.cfg.Links()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ended {
		links = slices.Clone(m.links)
	}
	m.look()
	f, st, now := m.cfg.Fleet, m.last, m.now()
	out := Status{
		Version: 1, Run: f.Run, Name: m.cfg.Name, NonPrivate: f.Privacy.NonPrivate,
		Running: !m.ended, Phase: m.phase, Seconds: now.Sub(m.since).Seconds(), Stalled: m.stalled(now).Seconds(),
		Uptime: now.Sub(m.started).Seconds(), Waiting: append([]string{}, st.Waiting...),
		Round: st.Round, Rounds: f.Method.Rounds, Cooldown: f.Method.Cooldown,
		Queries: st.Queries, FrameBytes: st.BytesSent, RefusedFrames: st.Refused,
		Disagreement: Unknown(), Compared: st.Compared, Neighbors: []Neighbor{},
		Evidence: NewEvidence(st.Evidence),
	}
	if m.err != nil {
		out.Fault = m.err.Error()
	}
	if st.Compared > 0 {
		out.Disagreement = Value(st.Disagreement)
	}
	for _, n := range st.Neighbors {
		one := Neighbor{Name: n.Name, Round: n.Round, Behind: st.Round - n.Round, Missing: slices.Contains(st.Waiting, n.Name)}
		if i := slices.IndexFunc(links, func(l Link) bool { return l.Name == n.Name }); i >= 0 {
			one.Link = &links[i]
		}
		out.Neighbors = append(out.Neighbors, one)
	}
	if !f.Privacy.NonPrivate {
		out.Privacy = m.privacy()
	}
	if m.cfg.Score != nil || f.Privacy.NonPrivate || st.FailedQueries > 0 {
		local := m.best
		local.FailedQueries = st.FailedQueries
		out.Local = &local
	}
	out.Ready = m.ready(out.Neighbors) == nil
	return out
}

// privacy says what has been spent. m.mu is held.
func (m *Monitor) privacy() *Privacy {
	p := m.cfg.Fleet.Privacy
	out := &Privacy{Delta: p.Delta, Accounting: m.accounting.String(), Limit: Unknown(), Planned: Value(m.planned)}
	if p.EpsilonLimit > 0 {
		out.Limit = Value(p.EpsilonLimit)
	}
	if m.node != nil {
		out.Rho = m.node.Spend()
	}
	out.Epsilon = m.epsilon(out.Rho)
	if l := m.cfg.Ledger; l != nil && m.lifeOf != m.last.Round+1 {
		m.lifeOf = m.last.Round + 1
		m.lifetime = NewLifetime(l.Lifetime(p.Delta), m.accounting)
	}
	if m.lifetime != nil {
		life := *m.lifetime
		out.Lifetime = &life
	}
	return out
}

// NewLifetime puts what a ledger says into the words of a status, with epsilon as an accounting reads it.
func NewLifetime(l *dpmech.Lifetime, a dpmech.Accounting) *Lifetime {
	out := &Lifetime{Dataset: l.Dataset, Runs: len(l.Runs), Limit: Unknown(), Epsilon: Value(a.Epsilon(l.Rho, l.Delta))}
	if l.Limit != nil {
		out.Limit = Value(l.Limit.Epsilon)
	}
	return out
}

// History returns a copy of the run's course so far, of at most [MaxPoints] points.
func (m *Monitor) History() History {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.look()
	return m.hist.snapshot()
}

// Stalled returns for how long the node has done nothing although it was its turn: its oracle does not answer, or its disk does not
// take a release. It is 0 while the node waits for a neighbor, and where there is no run. A watchdog may end a process that has been
// stalled for longer than any answer of the oracle takes.
func (m *Monitor) Stalled() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.look()
	return m.stalled(m.now())
}

func (m *Monitor) stalled(now time.Time) time.Duration {
	if m.node == nil || m.ended || m.phase != Querying {
		return 0
	}
	return now.Sub(m.moved)
}

// Healthy returns the error that the run has failed with; nil if it has not.
func (m *Monitor) Healthy() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.err
}

// Ready returns what keeps the node from taking part: its run has not begun, or is over, or it has neighbors and is known
// to be connected with none of them.
func (m *Monitor) Ready() error {
	st := m.Status()
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ready(st.Neighbors)
}

func (m *Monitor) ready(neighbors []Neighbor) error {
	switch {
	case m.node == nil:
		return errors.New("the run has not begun")
	case m.err != nil:
		return m.err
	case m.ended:
		return errors.New("the run is over")
	case len(neighbors) > 0 && m.cfg.Links != nil && !slices.ContainsFunc(neighbors, func(n Neighbor) bool { return n.Link != nil && n.Link.Connected }):
		return errors.New("no neighbor is connected")
	}
	return nil
}

// Handler serves what the monitor knows, see the package comment. It is guarded, see [Guard].
func (m *Monitor) Handler() http.Handler { return handler(m) }

func (m *Monitor) statuses() []Status { return []Status{m.Status()} }
func (m *Monitor) object() any        { return m.Status() }
func (m *Monitor) course() History    { return m.History() }
