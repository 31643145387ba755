// Package lab implements the commands that need no fleet: demo, simulate and plan.
package lab

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/setup"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task/score"
	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/device"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/monitor"
	"github.com/spade-dfl/spade-edge/sdk/pair"
	"github.com/spade-dfl/spade-edge/sdk/sim"
	"github.com/spade-dfl/spade-edge/transport/ws"
	"github.com/spade-dfl/spade-edge/zoest"
)

// Demo is the command that trains eight nodes over real websockets in this process.
func Demo(ctx context.Context, c *cli.Cmdline) error {
	o := setup.NewOptions(c)
	o.Spec.Source, o.Nodes, o.Graph, o.Partition = "synthetic:clinical", 8, "complete", "dirichlet:0.1"
	private := &o.Asked.Privacy // protect each patient unless -unit is given
	ofClients := private.EpsilonLimit
	private.Unit, private.EpsilonLimit = dpmech.Record, 1
	addr := c.String("http", "",
		"serve a page that shows all nodes at this loopback `address`, and keep serving it at the end until an interrupt")
	err := o.Read(c)
	if err == nil {
		err = cli.CheckHTTP(*addr)
	}
	if err != nil {
		return err
	}
	if o.Nodes > maxDemoNodes {
		return cli.Usage("-nodes is %d, want at most %d, because all nodes open sockets in one process; \"spade-edge "+
			"simulate\" accepts more", o.Nodes, maxDemoNodes)
	}
	if private.Unit == dpmech.Client && !o.Given["epsilon"] {
		private.EpsilonLimit = ofClients
	}
	p, err := cli.Prompt(ctx, func() (*setup.Problem, error) { return o.Build("demo") })
	if err != nil {
		return err
	}
	show := cli.NewProgress(c.Log, p.Fleet.Method)
	show.Say("nodes: %d, connections between them over TLS websockets on this machine: %d, parameters of the model: %d",
		o.Nodes, len(p.Fleet.Edges), p.Fleet.Dim)
	p.WriteBeginning(c.Log)
	d := &demo{Problem: p, show: show, began: time.Now()}
	ctx, leave := context.WithCancel(ctx)
	defer d.page.Wait()
	defer leave()
	r, models, err := d.run(ctx, *addr)
	if err != nil {
		return err
	}
	each, err := r.SetScore(p, models)
	if err != nil {
		return err
	}
	show.Say("training each node alone, and one with everybody's data, for comparison")
	solo, err := compare(p, ctx, r)
	if err != nil {
		return err
	}
	if s := r.Score; s.Measure == score.Accuracy {
		d.group.Compare("alone", *s.Alone/100)
		d.group.Compare("pooled", *s.Pooled/100)
	}
	err = c.Print(r, func(t cli.Table) { writeTable(p, t, r, solo, each) })
	if err != nil || *addr == "" {
		return err
	}
	show.Say("the page stays until you interrupt (Ctrl-C)")
	<-ctx.Done()
	return nil
}

// maxDemoNodes limits the number of listeners, connections and goroutines in one process.
const maxDemoNodes = 100

// demo is a fleet whose nodes all run in this process, with a page that shows the nodes.
type demo struct {
	*setup.Problem
	show     *cli.Progress
	began    time.Time
	trs      []*ws.Transport
	keys     []ed25519.PrivateKey
	file     *fleetfile.File
	monitors []*monitor.Monitor
	group    *monitor.Group
	page     sync.WaitGroup // the server of the page
}

// run trains the fleet over websockets. It returns the result and each node's final model. If addr is not empty, run serves the page at addr until ctx ends.
func (d *demo) run(ctx context.Context, addr string) (r *setup.Result, models [][]float32, err error) {
	defer func() {
		var wg sync.WaitGroup // close in parallel: closing a node gives its peers time to confirm
		for _, tr := range d.trs {
			wg.Go(func() { _ = tr.Close() })
		}
		wg.Wait()
	}()
	if err = d.listen(); err == nil {
		err = d.monitor(ctx, addr)
	}
	if err != nil {
		return nil, nil, err
	}
	releases := sim.NewTranscript(len(d.trs), d.round)
	start, nodes := time.Now(), make([]*sdk.Node, len(d.trs))
	secrets := mathrand.Uint64() // in one process, members need no keys to share noise
	for i, tr := range d.trs {
		cfg := sdk.Config{
			Fleet: d.Plan, Name: d.Fleet.Members[i], Samples: d.Samples[i], Oracle: d.Oracles[i], Transport: tr,
			Window: zoest.Window(d.Fleet.Dim),
			Key:    d.keys[i], Keys: d.file.SigningKeys,
			Events: monitor.Both(d.monitors[i].Events(), sdk.Events{
				Released: func(round int, x []float32) { releases.Add(round, i, slices.Clone(x)) },
			}),
		}
		if d.Fleet.Privacy.PairSigma > 0 {
			cfg.Secret = func(neighbor string) pair.Secret {
				return sim.PairSecret(secrets, i, slices.Index(d.Fleet.Members, neighbor))
			}
		}
		if nodes[i], err = sdk.New(cfg); err != nil {
			return nil, nil, err
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	for i, n := range nodes {
		d.monitors[i].Begin(n)
		wg.Go(func() {
			err := n.Run(ctx)
			d.monitors[i].End(err)
			if err != nil {
				cancel(err) // if one node fails, the others would wait indefinitely
			}
		})
	}
	wg.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, nil, err
	}
	r = d.NewResult(false)
	for _, n := range nodes {
		models = append(models, n.Model())
		st := n.Status()
		r.Queries += st.Queries
		r.BytesSent += st.BytesSent
	}
	r.Transcript, r.Seconds = releases.Sum(), time.Since(start).Seconds()
	return r, models, nil
}

// monitor creates a monitor for each node. If addr is not empty, it serves the page of all nodes there until ctx ends.
func (d *demo) monitor(ctx context.Context, addr string) error {
	for i, name := range d.Fleet.Members {
		links := func() []monitor.Link { return device.Links(d.trs[i].Peers(), d.began, 0) }
		m, err := monitor.New(monitor.Config{Fleet: d.Fleet, Name: name, Links: links})
		if err != nil {
			return err
		}
		d.monitors = append(d.monitors, m)
	}
	d.group = monitor.NewGroup(d.Fleet, "test data that no node has, with the average model", d.monitors...)
	if d.Train.Kind() == task.OfClasses {
		d.group.Compare("majority", d.Test.Majority())
	}
	if addr == "" {
		return nil
	}
	l, err := monitor.Listen(addr)
	if err != nil {
		return err
	}
	d.page.Go(func() { monitor.Serve(ctx, l, d.group.Handler()) })
	d.show.Say("page: http://%s/", l.Addr())
	return nil
}

// round reports the state of all models after a round, on the terminal and on the page.
func (d *demo) round(round int, models [][]float32) {
	f, xbar := d.Fleet, setup.Mean(models)
	consensus := setup.ConsensusError(xbar, models)
	d.show.Round(round, func() string {
		return fmt.Sprintf("average model %s, consensus error %.2g", d.Worth(xbar, 1), consensus)
	})
	epsilon := monitor.Unknown()
	if !f.Privacy.NonPrivate {
		epsilon = monitor.Value(f.Privacy.Accounting.Epsilon(f.Total(f.Method.Data(round)).Rho, f.Privacy.Delta))
	}
	d.group.Add(monitor.Point{
		Round: round, Seconds: time.Since(d.began).Seconds(), Epsilon: epsilon,
		ConsensusError: monitor.Value(consensus),
		Loss:           monitor.Value(d.Test.MeanLoss(xbar)), Accuracy: monitor.Value(d.Test.Accuracy(xbar)),
	})
}

// listen creates a key for each member and starts its listener. Each member dials all members whose listeners are
// already running.
func (d *demo) listen() error {
	d.file = &fleetfile.File{Fleet: d.Fleet}
	for _, name := range d.Fleet.Members {
		public, key, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			return err
		}
		d.keys = append(d.keys, key)
		d.file.Members = append(d.file.Members, fleetfile.Member{Name: name, Keys: []ed25519.PublicKey{public}})
	}
	for i, name := range d.Fleet.Members {
		link := ws.ConfigOf(d.file, name, d.keys[i], "127.0.0.1:0")
		link.Logger = slog.New(slog.DiscardHandler) // connections within this process say nothing to a newcomer
		tr, err := ws.New(link)
		if err != nil {
			return err
		}
		d.trs = append(d.trs, tr)
		d.file.Members[i].Addresses = []string{tr.Addr()}
	}
	return nil
}

// compare trains without noise: first each node alone on its own data, then a single node on the data of all nodes. It
// returns the scores of the nodes that trained alone. It stores the mean of these scores, and the score of the single
// node, in r.
func compare(p *setup.Problem, ctx context.Context, r *setup.Result) ([]float64, error) {
	var models [][]float32
	for _, oracle := range append(slices.Clip(p.Oracles), p.Opt.ModelSpec().New(p.Train)) {
		model, err := p.Alone(ctx, oracle)
		if err != nil {
			return nil, err
		}
		models = append(models, model)
	}
	n := len(p.Oracles)
	each := p.Scores(models...)
	solo := setup.Average(each[:n])
	r.Score.Alone, r.Score.Pooled = &solo, &each[n]
	return each[:n], nil
}

// writeTable prints the result of a demo. The parameter solo has the scores of the nodes that trained alone; the
// parameter each has the scores of the nodes that trained together.
func writeTable(p *setup.Problem, t cli.Table, r *setup.Result, solo, each []float64) {
	row := func(name string, samples, share any, alone, together string) {
		fmt.Fprintf(t, "%-10s %8v %12v %14s %16s\n", name, samples, share, alone, together)
	}
	s := r.Score
	always := map[score.Measure]string{score.Accuracy: "majority", score.RMSE: "mean", score.CIndex: "constant"}[s.Measure]
	say := func(x float64) string { return s.Measure.Text(x, 1) }
	_, constant := s.Words()
	k := p.Train.Classes - 1
	last := fmt.Sprint(k)
	if k < len(p.Train.ClassNames) && k >= 0 {
		last = p.Train.ClassNames[k]
	}
	fmt.Fprintln(t)
	row("node", "samples", "class "+last, "alone", "with the others")
	for i, name := range p.Fleet.Members {
		count := 0
		for _, y := range p.Labels[i] {
			if y == k {
				count++
			}
		}
		share := 100 * float64(count) / float64(len(p.Labels[i]))
		row(name, len(p.Labels[i]), fmt.Sprintf("%.0f %%", share), say(solo[i]), say(each[i]))
	}
	row("average", "", "", say(*s.Alone), say(s.Mean))
	row("pooled", p.Train.Len(), "", "", say(*s.Pooled))
	row(always, "", "", "", say(s.Constant))
	fmt.Fprintf(t, "\n%s is on test data that no node has; \"alone\" and \"pooled\" (one node with everybody's data) are "+
		"trained without noise; %q always says %s\n\n", s.Measure.Name(), always, constant)
	t.Row("consensus error", "%.3g, mean squared distance between a node's model and the average one", r.ConsensusError)
	t.Row("sent", "%s in all: %d %ss over %d connections, both ways; no data, no gradients",
		cli.BytesText(r.BytesSent), p.Fleet.Method.Last(), cli.ReleaseWord(p.Fleet.Method), len(p.Fleet.Edges))
	t.Row("asked", "%d losses of the black-box models, in %.1f s", r.Queries, r.Seconds)
	r.Privacy.Write(t, r.Rounds, false)
}
