package setup

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/device"
	"github.com/spade-dfl/spade-edge/sdk/monitor"
	"github.com/spade-dfl/spade-edge/transport/ws"
)

// Stage shows the nodes of a demo on a page. A nil stage shows nothing.
type Stage struct {
	problem  *Problem
	show     *cli.Progress
	monitors []*monitor.Monitor
	group    *monitor.Group
	began    time.Time
	leave    context.CancelFunc
	work     sync.WaitGroup
	trs      atomic.Pointer[[]*ws.Transport]
}

// NewStage serves the page at an address; there is none without one.
func (p *Problem) NewStage(addr string, show *cli.Progress) (*Stage, error) {
	if addr == "" {
		return nil, nil
	}
	l, err := monitor.Listen(addr)
	if err != nil {
		return nil, err
	}
	s := &Stage{problem: p, show: show, began: time.Now()}
	for i, name := range p.Fleet.Members {
		m, err := monitor.New(monitor.Config{Fleet: p.Fleet, Name: name, Links: func() []monitor.Link { return s.links(i) }})
		if err != nil {
			_ = l.Close()
			return nil, err
		}
		s.monitors = append(s.monitors, m)
	}
	s.group = monitor.NewGroup(p.Fleet, "test data that no node has, with the average model", s.monitors...)
	if p.Train.Target == nil {
		s.group.Compare("majority", p.Test.Majority())
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.leave = cancel
	s.work.Go(func() { monitor.Serve(ctx, l, s.group.Handler()) })
	show.Say("page: http://%s/", l.Addr())
	return s, nil
}

// links says how a node's connections are.
func (s *Stage) links(i int) []monitor.Link {
	if trs := s.trs.Load(); trs != nil {
		return device.Links((*trs)[i].Peers(), s.began)
	}
	return nil
}

// Observer puts a node's monitor before an observer.
func (s *Stage) Observer(i int, next sdk.Observer) sdk.Observer {
	if s == nil {
		return next
	}
	return s.monitors[i].Observer(next)
}

// Begin shows the page of a run that begins.
func (s *Stage) Begin(nodes []*sdk.Node, trs []*ws.Transport) {
	if s == nil {
		return
	}
	s.trs.Store(&trs)
	for i, n := range nodes {
		s.monitors[i].Begin(n)
	}
}

// End shows that the run has ended.
func (s *Stage) End(i int, err error) {
	if s != nil {
		s.monitors[i].End(err)
	}
}

// Add takes in what is known of all nodes after a round: of the average model, and how far they are from it.
func (s *Stage) Add(round int, accuracy, consensus float64, model []float32) {
	if s == nil {
		return
	}
	f := s.problem.Fleet
	epsilon := monitor.Unknown()
	if !f.Privacy.NonPrivate {
		epsilon = monitor.Value(f.Privacy.Accounting.Epsilon(f.Total(f.Method.Data(round)).Rho, f.Privacy.Delta))
	}
	s.group.Add(monitor.Point{
		Round: round, Seconds: time.Since(s.began).Seconds(), Epsilon: epsilon,
		ConsensusError: monitor.Value(consensus),
		Loss:           monitor.Value(s.problem.Test.MeanLoss(model)), Accuracy: monitor.Value(accuracy),
	})
}

// Compare takes in what nodes alone, and one with all data, are worth.
func (s *Stage) Compare(r *Result) {
	if s != nil && r.Accuracies != nil {
		s.group.Compare("alone", *r.AccuracyAlone/100)
		s.group.Compare("pooled", *r.AccuracyPooled/100)
	}
}

// Close ends the page.
func (s *Stage) Close() {
	if s != nil {
		s.leave()
		s.work.Wait()
	}
}
