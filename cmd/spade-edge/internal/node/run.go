// Package node implements the commands for one device: run, status, stop, check, export, predict and evaluate.
package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/setup"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/verdict"
	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/dpmech/explain"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/device"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/plan"
)

// runFlags has the flags of the run command.
type runFlags struct {
	addr, without, form string
	linger, patience    time.Duration
	verbose, anyway     bool
}

// read parses the command line and loads the files of the device. It returns the path of the node file.
func (o *runFlags) read(c *cli.Cmdline) (d *device.Device, path string, err error) {
	c.Func("http", // may be empty
		"serve a page, status and metrics at this loopback `address`, whatever the node file says; empty for none. The page "+
			"stays after the end of the run until you interrupt", func(text string) error { o.addr = text; return nil })
	c.DurationVar(&o.linger, "linger", 0, "with -http: how long the page stays after the end of the run (default until you interrupt)")
	c.BoolVar(&o.verbose, "v", false, "at the end, print everything known about the run")
	c.BoolVar(&o.anyway, "anyway", false, "start even if the forecast says that the run gains next to nothing")
	c.StringVar(&o.without, "without", "", "continue without neighbors that stay silent, or other members whose keys never arrive: their `names`, separated by commas")
	c.DurationVar(&o.patience, "patience", 0, "likewise continue without a neighbor that has been silent for this long, such as 15m; at "+
		"least 2m (default as in the node file, or wait indefinitely)")
	c.StringVar(&o.form, "log", "text", "`format` of the log: text, or json with one object per line")
	c.JSONFlag()
	if path, err = c.ParseFile(); err == nil {
		err = cli.CheckHTTP(o.addr)
	}
	switch {
	case err != nil:
		return nil, "", err
	case o.form != "text" && o.form != "json":
		return nil, "", cli.Usage("-log is %q, want text or json", o.form)
	case c.Given["linger"] && o.addr == "":
		return nil, "", cli.Usage("-linger needs -http")
	case o.linger < 0:
		return nil, "", cli.Usage("-linger is %v, want 0s or more", o.linger)
	}
	file, err := readOwn(c.Program, path)
	if err == nil {
		d, err = device.Load(file)
	}
	if err == nil {
		err = setup.Filled(file.Oracle)
	}
	if err != nil {
		return nil, "", cli.AsUsageError(err)
	}
	if c.Given["http"] {
		d.HTTP = o.addr
	}
	if c.Given["patience"] {
		d.File.Patience = o.patience
	}
	d.Without = setup.List(o.without)
	d.Anyway, d.Noise, d.Program, d.Service = o.anyway, c.Program.Noise, c.Program.Version(), true
	return d, path, nil
}

// Run is the command that runs a node of a fleet.
func Run(ctx context.Context, c *cli.Cmdline) error {
	var o runFlags
	d, path, err := o.read(c)
	if err != nil {
		return err
	}
	f := d.Fleet.Fleet
	show := cli.NewProgress(c.Log, f.Method)
	show.Name = d.File.Name + ": "
	r := &RunResult{}
	judgeRun(d, r)
	tell(c, d, show, o.form == "json")
	d.Opened = func(source *fleetfile.Source) { // not with d.Say nor as JSON: such lines may leave the device
		if r.Rows = source.Rows.Counts(); r.Rows != "" && o.form == "text" {
			fmt.Fprintf(c.Log, "warning: %s: \"spade-edge check %s\" says why\n", r.Rows, path)
		}
	}
	d.Open = func(log *slog.Logger) (device.Link, error) { return c.Program.Open(d, log) }
	report := func(end *device.Outcome) error {
		if r.Outcome = *end; !r.NonPrivate {
			r.Privacy = setup.NewPrivacy(end.Spent, f, end.ConditionalOn)
		}
		return c.Print(r, func(t cli.Table) { r.Write(t, f.Method, o.verbose) })
	}
	if o.addr != "" && (!c.Given["linger"] || o.linger > 0) {
		d.Linger = func(end *device.Outcome) <-chan time.Time {
			_ = report(end) // the last Flush of the program returns the same error
			if c.Given["linger"] {
				d.Say(fmt.Sprintf("the page stays for %v, or until you interrupt (Ctrl-C)", o.linger))
				return time.After(o.linger)
			}
			d.Say("the page stays until you interrupt (Ctrl-C); -linger limits that")
			return nil
		}
	}
	end, err := d.Run(ctx)
	if err != nil {
		return err
	}
	if d.Linger == nil {
		err = report(end)
	}
	if len(r.Quarantined) == 0 {
		return err
	}
	without := fmt.Errorf("run complete, but some neighbors are in quarantine: %s; to remove one from the fleet, use \"spade-edge fleet remove\"",
		strings.Join(r.Quarantined, "; "))
	return cli.AsExit(errors.Join(without, err), cli.ExitWithout)
}

// judgeRun configures the device to keep earlier models of the run, and to judge the shared one at its end.
func judgeRun(d *device.Device, r *RunResult) {
	site := &verdict.Site{Node: d.File, Fleet: d.Fleet}
	d.Released = func(round int, x []float32, _ dpmech.Total) {
		if err := site.Released(round, x); err != nil {
			d.Say(err.Error())
		}
	}
	d.Finished = func(ctx context.Context, source *fleetfile.Source, model []float32) {
		var err error
		if plan.Hopeless(d.Fleet) == nil { // a model of noise ranks rows at random
			r.Backwards = verdict.Backwards(source, model, "the shared model")
		}
		if r.Verdict, err = site.Judge(ctx, source, model); err != nil {
			r.Unjudged = err.Error()
		}
	}
}

// tell configures the device to print its progress, as text or as JSON.
func tell(c *cli.Cmdline, d *device.Device, show *cli.Progress, asJSON bool) {
	f := d.Fleet.Fleet
	d.Say = func(line string) { show.Say("%s", line) }
	made := show.Round
	if asJSON {
		d.Log = slog.NewJSONHandler(c.Log, nil)
		log := slog.New(d.Log).With("run", f.Run, "node", d.File.Name)
		c.Log = slog.NewLogLogger(log.Handler(), slog.LevelError).Writer() // prints the reason of a failure as a log line
		d.Say = func(line string) { log.Info(line) }
		made = func(round int, note func() string) {
			log.Info("released", "round", round, "rounds", f.Method.Last(), "note", note())
		}
	}
	kept := d.Released
	d.Released = func(round int, x []float32, spent dpmech.Total) {
		kept(round, x, spent)
		made(round, func() string { return spendNote(f.Privacy, spent) })
	}
}

// readOwn reads a node file and checks that this program can run the node.
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
	bar, with := explain.Bars(spent, p.Delta, p.Accounting)[0], ""
	if p.PairSigma > 0 {
		with = " against " + bar.Who
	}
	return fmt.Sprintf("epsilon %s%s at delta %v%s", cli.EpsilonText(bar.Epsilon), with, p.Delta, p.Protects().Phrase())
}

// RunResult is the result of a node's run, printed as text or, with -json, as JSON.
type RunResult struct {
	device.Outcome
	Privacy *setup.Privacy   `json:"privacy"`
	Verdict *verdict.Verdict `json:"verdict,omitempty"`
	// Rows counts the rows of the table that had no effect; for this device only.
	Rows string `json:"rows_without_effect,omitempty"`
	// Backwards says so if the shared model ranks the own rows the wrong way round; for this device only.
	Backwards string `json:"backwards,omitempty"`
	// Unjudged says why there is no verdict, or why it could not be kept.
	Unjudged string `json:"unjudged,omitempty"`
}

// Write prints the result as text: at most twelve lines of 80 columns, unless something is wrong or verbose is true. m is
// the fleet's method.
func (r *RunResult) Write(t cli.Table, m sdk.Method, verbose bool) {
	t.Wrap("node", "%q of run %q: %d releases, %s sent, %.1f s", r.Name, r.Run, r.Rounds, cli.BytesText(r.BytesSent), r.Seconds)
	t.Row("model", "%s", r.Model)
	for _, q := range r.Quarantined {
		t.Row("quarantine", "%s", q)
	}
	if r.Rows != "" {
		t.Wrap("rows", "%s: \"spade-edge check\" says why", r.Rows)
	}
	t.Wrap("labels", "%s", r.Backwards)
	verdictRows(t, r.Verdict, r.NonPrivate)
	t.Wrap("verdict", "%s", r.Unjudged)
	lossRows(t, r.Queries, &r.Losses)
	r.Privacy.Brief(t)
	t.Wrap("certificate", "%s", r.Certificate)
	if !verbose {
		return
	}
	own := ""
	if !r.NonPrivate {
		own = "; for this device only: a multiple of its samples"
	}
	t.Row("losses", "%d asked for%s", r.Queries, own)
	r.Privacy.Write(t, m.Data(r.Rounds), false)
	if r.Certificate != "" {
		t.Row("", "spade-edge privacy -verify %s -fleet FLEETFILE checks the certificate", r.Certificate)
	}
}
