// Package node has the commands of one device: run, status, stop, check, export, predict and evaluate.
package node

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/setup"
	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/device"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
)

// Run is the command that runs a node of a fleet.
func Run(ctx context.Context, c *cli.Cmdline) error {
	addr := c.String("http", "",
		"serve a page, status and metrics at this loopback `address`, whatever the node file says; empty for none")
	restore := c.Bool("recover", false, "with an empty state folder: take the place of a lost device")
	anyway := c.Bool("anyway", false, "begin even if the forecast is that the run will gain next to nothing")
	without := c.String("without", "", "go on without neighbors that are silent for good, or others whose keys never come: their `names`, with commas")
	patience := c.Duration("patience", 0, "go on in the same way without a neighbor that has been silent for so long, such as 15m; at "+
		"least 2m (default what the node file says, or wait)")
	form := c.String("log", "text", "`form` of what is said on the way: text, or json, an object in each line")
	c.JSONFlag("")
	path, err := c.ParseFile()
	if err == nil {
		err = cli.CheckHTTP(*addr)
	}
	if err == nil && *form != "text" && *form != "json" {
		err = cli.Usage("-log %q, want text or json", *form)
	}
	if err != nil {
		return err
	}
	file, err := readOwn(c.Program, path)
	var d *device.Device
	if err == nil {
		d, err = device.Load(file)
	}
	if err != nil {
		return cli.AsUsageError(err)
	}
	if c.Given["http"] {
		d.HTTP = *addr
	}
	f := d.Fleet.Fleet
	show := cli.NewProgress(c.Log, f.Method)
	show.Name = file.Name + ": "
	if *without != "" {
		d.Without = strings.Split(*without, ",")
	}
	if c.Given["patience"] {
		d.File.Patience = *patience
	}
	d.Recover, d.Anyway, d.Noise = *restore, *anyway, c.Program.Noise
	tell(c, d, show, *form == "json")
	d.Open = func(log *slog.Logger) (device.Link, error) { return c.Program.Open(d, log) }
	o, err := d.Run(ctx)
	if err != nil {
		return err
	}
	r := &RunResult{Outcome: *o}
	if !r.NonPrivate {
		r.Privacy = setup.NewPrivacy(o.Spent, f.Privacy, o.Levels, o.ConditionalOn)
	}
	err = c.Print(r, func(t cli.Table) { r.Write(t, f.Method.EndedAt(o.EndedAfter)) })
	if err == nil && len(r.Quarantined) > 0 {
		err = cli.AsExit(fmt.Errorf("done, with neighbors in quarantine: %s; spade-edge fleet remove takes a member out",
			strings.Join(r.Quarantined, "; ")), cli.ExitWithout)
	}
	return err
}

// tell has the device say what it does: to people, or as JSON.
func tell(c *cli.Cmdline, d *device.Device, show *cli.Progress, asJSON bool) {
	f := d.Fleet.Fleet
	d.Say = func(line string) { show.Say("%s", line) }
	d.Released = func(round int, spent dpmech.Total) {
		show.Method = d.Method() // nobody else looks at it
		show.Round(round, spendNote(f.Privacy, spent))
	}
	if asJSON {
		d.Log = slog.NewJSONHandler(c.Log, nil)
		log := slog.New(d.Log).With("run", f.Run, "node", d.File.Name)
		c.Log = slog.NewLogLogger(log.Handler(), slog.LevelError).Writer() // why the command fails
		d.Say = func(line string) { log.Info(line) }
		d.Released = func(round int, spent dpmech.Total) {
			log.Info("released", "round", round, "rounds", d.Method().Last(), "note", spendNote(f.Privacy, spent))
		}
	}
}

// readOwn reads the file of a node that this program can run.
func readOwn(p *cli.Program, path string) (*fleetfile.Node, error) {
	node, err := fleetfile.ReadNode(path)
	if err == nil {
		err = p.Accept(node)
	}
	return node, err
}

func spendNote(p sdk.Privacy, spent dpmech.Total) string {
	if p.NonPrivate {
		return "NOT PRIVATE"
	}
	with := ""
	switch {
	case p.PairSigma == 0:
	case p.Colluders == 0:
		with = " against outsiders"
	case p.Colluders == 1:
		with = " with any 1 other member"
	default:
		with = fmt.Sprintf(" with any %d other members", p.Colluders)
	}
	text := fmt.Sprintf("epsilon %s%s at delta %v", cli.EpsilonText(p.Accounting.Epsilon(spent.Rho, p.Delta)), with, p.Delta)
	if p.Unit == sdk.UnitRecord {
		text += " " + p.Each()
	}
	return text
}

// RunResult is the outcome of a node's run, and its JSON.
type RunResult struct {
	device.Outcome
	Privacy *setup.Privacy `json:"privacy"`
}

// Write prints the outcome for people.
func (r *RunResult) Write(t cli.Table, m sdk.Method) {
	one := cli.ReleaseWord(m)
	t.Row("node", "%q", r.Name)
	t.Row("model", "sha256 %s after %d %ss of run %q", r.Model, r.Rounds, one, r.Run)
	if r.EndedAfter > 0 {
		var all []string
		for _, w := range r.Stops {
			all = append(all, fmt.Sprintf("%q (round %d)", w.Member, w.Last))
		}
		t.Row("early end", "after round %d of learning, as asked by %s", r.EndedAfter, strings.Join(all, ", "))
	}
	if r.Recovered > 0 {
		t.Row("took over", "after release %d, in the place of a lost device", r.Recovered)
	}
	for _, s := range r.Suspects {
		t.Row("suspect", "%s", s)
	}
	for _, q := range r.Quarantined {
		t.Row("quarantine", "%s", q)
	}
	t.Row("cost", "%s sent, %.1f s", cli.BytesText(r.BytesSent), r.Seconds)
	own := ""
	if !r.NonPrivate {
		own = "; for this device only: a multiple of its samples"
	}
	t.Row("losses", "%d asked for%s", r.Queries, own)
	if r.Local != nil {
		t.Row("accuracy", "%.2f %% of %d test samples, %.2f %% by always saying the most frequent class; "+
			"for this device only: the privacy guarantee does not cover it", r.Local.Accuracy, r.Local.Samples, r.Local.Majority)
	}
	if e := r.LocalErrors; e != nil {
		t.Row("errors", "RMSE %.4g, MAE %.4g of %d test samples (always saying their mean: %.4g, %.4g); for this device only: "+
			"the privacy guarantee does not cover it", e.RMSE, e.MAE, e.Samples, e.MeanRMSE, e.MeanMAE)
	}
	trendRows(t, r.Trend, r.NonPrivate)
	(&setup.Result{Rounds: m.Data(r.Rounds), Privacy: r.Privacy}).WritePrivacy(t)
	if r.Certificate != "" {
		t.Row("certificate", "%s (spade-edge privacy -verify %s checks it)", r.Certificate, r.Certificate)
	}
}
