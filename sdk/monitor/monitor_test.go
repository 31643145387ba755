package monitor

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/tinytest"
	"github.com/spade-dfl/spade-edge/zoest"
)

func pair(change func(f *sdk.Fleet)) *sdk.Fleet {
	f := &sdk.Fleet{
		Run: "pair", Dim: 3, Members: []string{"a", "b"}, Edges: [][2]string{{"a", "b"}},
		Method:  sdk.Method{Rounds: 6, Cooldown: 2, Tau: 1, Rho: 1, Gain: 0.4, Eta: []float64{0.3}, Mu: []float64{0.5}},
		Privacy: sdk.Privacy{Clip: 0.2, Sigma: 1, Delta: 1e-5, EpsilonLimit: 8},
	}
	if change != nil {
		change(f)
	}
	return f
}

// world holds the two nodes, "a" and "b", of a fleet in one process, and the monitor of node "a".
type world struct {
	fleet *sdk.Fleet
	nodes [2]*sdk.Node
	mon   *Monitor

	waiting chan struct{} // receives an element after node a has waited for its neighbor for a while
}

// newWorld makes the two nodes. change may alter the configuration of the monitor; oracle, if not nil, is called before
// every answer of the oracle of node "a".
func newWorld(t *testing.T, f *sdk.Fleet, change func(c *Config), oracle func(ctx context.Context) error) *world {
	t.Helper()
	w := &world{fleet: f, waiting: make(chan struct{}, 100)}
	cfg := Config{Fleet: f, Name: "a"}
	if change != nil {
		change(&cfg)
	}
	var err error
	if w.mon, err = New(cfg); err != nil {
		t.Fatal(err)
	}
	fleet := &tinytest.World{Fleet: f, Samples: []int{4, 4}}
	fleet.Oracle = func(client int) zoest.Oracle {
		return sdk.OracleFunc(func(ctx context.Context, x []float32, sample int) (float64, error) {
			if client == 0 && oracle != nil {
				if err := oracle(ctx); err != nil {
					return 0, err
				}
			}
			off := float64(x[sample%3]) - float64(client)
			return off * off / (1 + off*off), nil
		})
	}
	fleet.Change = func(client int, c *sdk.Config) {
		c.Key, c.Keys = nil, nil
		if client == 0 {
			c.Events = Both(w.mon.Events(), sdk.Events{Waiting: func(int, []string) { w.waiting <- struct{}{} }})
		}
	}
	t.Cleanup(func() { _ = fleet.Close() })
	for i, name := range f.Members {
		if w.nodes[i], err = fleet.Start(name); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// run runs both nodes until their runs end, and returns the error of node "a".
func (w *world) run(ctx context.Context) error {
	w.mon.Begin(w.nodes[0])
	over := make(chan error)
	go func() { over <- w.nodes[1].Run(ctx) }()
	err := w.nodes[0].Run(ctx)
	w.mon.End(err)
	<-over
	return err
}

// TestRun checks that the monitor reports a run from start to end: every round, its cost, and the distance between the
// releases.
func TestRun(t *testing.T) {
	links := []Link{{Name: "b", Connected: true, Sent: 12, Received: 34}}
	w := newWorld(t, pair(nil), func(c *Config) {
		c.Links = func() []Link { return links }
		c.Score = func(x []float32) (float64, float64) { return 0.5, 0.75 }
	}, nil)
	st := w.mon.Status()
	if st.Phase != Starting || st.Ready || st.Round != 0 || st.obstacle == "" || st.Fault != "" ||
		len(w.mon.history().Points) != 0 {
		t.Errorf("before the run: %+v", st)
	}
	if err := w.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	st = w.mon.Status()
	if st.Version != 1 || st.Run != "pair" || st.Name != "a" || st.NonPrivate || st.Running || st.Ready ||
		st.Phase != Ended || st.Fault != "" ||
		st.Round != 8 || st.Rounds != 6 || st.Cooldown != 2 || st.Queries != 48 || st.FrameBytes == 0 ||
		len(st.Waiting) != 0 {
		t.Errorf("status %+v", st)
	}
	if n := st.Neighbors; len(n) != 1 || n[0].Name != "b" || n[0].Round != 8 || n[0].Behind != 0 || n[0].Missing ||
		n[0].Link == nil || *n[0].Link != links[0] {
		t.Errorf("neighbors %+v", n)
	}
	p := st.Privacy
	if p == nil || len(p.Against) != 1 || p.Accounting != "gdp" || p.Delta != 1e-5 || p.Lifetime != nil {
		t.Fatalf("privacy %+v", p)
	}
	if a := p.Against[0]; a.Epsilon != float64(a.Planned) || !(a.Epsilon > 1) || a.Limit != 8 || a.Rho != w.nodes[0].Spend().Rho {
		t.Errorf("privacy %+v", p)
	}
	if l := st.Local; l == nil || l.Covered || l.Round != 8 || l.Loss != 0.5 || l.Accuracy != 0.75 {
		t.Errorf("local %+v", l)
	}
	points := w.mon.history().Points
	if len(points) != 8 {
		t.Fatalf("%d points", len(points))
	}
	for i, q := range points {
		if q.Round != i+1 || !q.ConsensusError.Known() || !(q.ConsensusError >= 0) || !q.Epsilon.Known() {
			t.Errorf("point %+v", q)
		}
		if i > 0 && (q.Epsilon > points[i-1].Epsilon) != (q.Round <= 6) {
			t.Errorf("epsilon %v after %v in round %d", q.Epsilon, points[i-1].Epsilon, q.Round)
		}
	}
	if last := points[7]; last.Loss != 0.5 || last.Accuracy != 0.75 || last.ConsensusError != st.ConsensusError ||
		st.Compared != 8 {
		t.Errorf("last point %+v, consensus error %v in round %d", last, st.ConsensusError, st.Compared)
	}
}

// TestWaitingIsNoStall checks that an oracle that does not answer counts as a stall, but that an absent neighbor does
// not.
func TestWaitingIsNoStall(t *testing.T) {
	now := time.Unix(1000, 0)
	asked, answer := make(chan struct{}), make(chan struct{})
	begun := true
	w := newWorld(t, pair(nil), nil, func(ctx context.Context) error {
		if begun {
			begun = false
			close(asked)
			<-answer
		}
		return nil
	})
	w.mon.now = func() time.Time { return now } // set before any goroutine runs that reads it
	w.mon.since, w.mon.progressed, w.mon.started = now, now, now
	w.mon.Begin(w.nodes[0])
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan error)
	go func() { over <- w.nodes[0].Run(ctx) }()
	<-asked
	if st := w.mon.Status(); st.Phase != Querying {
		t.Errorf("phase %s", st.Phase)
	}
	w.mon.mu.Lock()
	now = now.Add(time.Minute)
	w.mon.mu.Unlock()
	if s := w.mon.Status().Stalled; s != 60 {
		t.Errorf("stalled for %v", s)
	}
	w.mon.mu.Lock()
	w.mon.cfg.PerRound, w.mon.last.Queries = 40, 10
	first := w.mon.firstRound(60)
	w.mon.mu.Unlock()
	if first != 180 {
		t.Errorf("after 60 s and 10 of 40 queries, the first round lasts %v s more, want 180", first)
	}
	close(answer)
	<-w.waiting
	w.mon.mu.Lock()
	now = now.Add(time.Hour)
	w.mon.mu.Unlock()
	st := w.mon.Status()
	if st.Stalled != 0 || st.Seconds != 3600 || len(st.Waiting) != 1 || st.Waiting[0] != "b" ||
		!st.Neighbors[0].Missing {
		t.Errorf("status %+v", st)
	}
	cancel()
	w.mon.End(<-over)
	if st := w.mon.Status(); st.Fault != "" || st.Phase != Ended {
		t.Error("a run that was cancelled has failed")
	}
}

// TestQueriedLossesStayHere checks that the mean loss that a program returned is shown for each round, but only on this
// device: metrics must not contain it.
func TestQueriedLossesStayHere(t *testing.T) {
	calls := 0.0
	w := newWorld(t, pair(nil), func(c *Config) {
		c.Asked = func() float64 {
			if calls++; calls > 6 { // cool-down sends no queries
				return math.NaN()
			}
			return 1 / calls
		}
	}, nil)
	if err := w.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	st := w.mon.Status()
	if l := st.Local; l == nil || !l.OfQueries || l.Covered || l.Round != 6 || l.Loss != Value(1./6) || l.Accuracy.Known() {
		t.Errorf("local %+v", l)
	}
	for i, p := range w.mon.history().Points {
		if p.Loss.Known() != (i < 6) || i < 6 && p.Loss != Value(1/float64(i+1)) {
			t.Errorf("point %+v", p)
		}
	}
	if text := string(Metrics(st)); len(text) == 0 || strings.Contains(text, "loss{") {
		t.Errorf("metrics tell:\n%s", text)
	}
}

// TestFailure checks that the status of a failed run has its error. If Score panics, loss and accuracy are unknown.
func TestFailure(t *testing.T) {
	w := newWorld(t, pair(func(f *sdk.Fleet) { f.Privacy = sdk.Privacy{NonPrivate: true} }), nil,
		func(context.Context) error { return errors.New("no scale") })
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w.mon.Begin(w.nodes[0])
	err := w.nodes[0].Run(ctx)
	w.mon.End(err)
	w.mon.End(nil) // the second call has no effect
	st := w.mon.Status()
	if err == nil || st.Fault != err.Error() || st.Phase != Failed || !strings.Contains(st.Fault, "no scale") {
		t.Errorf("%v, status %+v", err, st)
	}
	m, err := New(Config{Fleet: w.fleet, Name: "a", Score: func([]float32) (float64, float64) { panic("of its data") }})
	if err != nil {
		t.Fatal(err)
	}
	if loss, accuracy := m.callScore(nil); !math.IsNaN(loss) || !math.IsNaN(accuracy) {
		t.Errorf("scores %v and %v", loss, accuracy)
	}
	for _, c := range []Config{{}, {Fleet: w.fleet}, {Fleet: w.fleet, Name: "z"}} {
		if _, err := New(c); err == nil || !strings.HasPrefix(err.Error(), "monitor: ") {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// TestEvidence checks that evidence against a neighbor is reported once. The node that holds the evidence does not
// count as failed.
func TestEvidence(t *testing.T) {
	w := newWorld(t, pair(nil), nil, nil)
	w.mon.last.Evidence = []signed.Evidence{{Member: "b", Round: 3, First: signed.Statement{Round: 3}}, {Member: "b", Round: 3},
		{Member: "b", Round: 4}}
	st := w.mon.Status()
	text, err := json.Marshal(st)
	if err != nil ||
		!strings.HasSuffix(string(text), `"evidence":[{"member":"b","round":3},{"member":"b","round":4}]}`) {
		t.Errorf("%s, %v", text, err)
	}
	if want := `"b" has signed two different releases of round 3: its device was copied or rolled back`; len(st.Evidence) < 1 || st.Evidence[0].String() != want {
		t.Errorf("evidence is %v, want %s", st.Evidence, want)
	}
	if st.Fault != "" {
		t.Errorf("a node with evidence against a neighbor is not healthy: %q", st.Fault)
	}
	if text, err := json.Marshal(Status{}); err != nil || strings.Contains(string(text), "evidence") {
		t.Errorf("none is told: %s, %v", text, err)
	}
}

// TestValue checks that unknown values are null in JSON, and survive a round trip.
func TestValue(t *testing.T) {
	for _, v := range []Value{0, -2.5, 1e-300, 1e300, Unknown(), Value(math.Inf(1))} {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var back Value
		if err := json.Unmarshal(text, &back); err != nil {
			t.Fatal(err)
		}
		if v.Known() != back.Known() || v.Known() && v != back || !v.Known() && string(text) != "null" {
			t.Errorf("%v became %s and %v", float64(v), text, float64(back))
		}
	}
	var v Value
	if err := json.Unmarshal([]byte(`"1"`), &v); err == nil {
		t.Error("a text is taken for a number")
	}
}
