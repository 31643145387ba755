package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/device"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
)

// testNoise, which only tests set, gives a private node another source of release noise, see [device.Device].
var testNoise func(number int, round func() int) io.Reader

func runNode(ctx context.Context, c *cmdline) error {
	addr := c.String("http", "",
		"serve a page, status and metrics at this loopback `address`, whatever the node file says; empty for none")
	restore := c.Bool("recover", false,
		"with an empty state folder: take the place of a lost device, with what its neighbors know of it")
	anyway := c.Bool("anyway", false, "begin even if the forecast is that the run will be little better than guessing")
	until := c.String("until", "", "ask for an early end of the run, by all members: `when` is a round, a duration from now, a time, "+
		"or below=D for a consensus error")
	without := c.String("without", "", "go on without neighbors that are silent for good: their `names`, with commas")
	patience := c.Duration("patience", 0, "go on in the same way without a neighbor that has been silent for so long, such as 15m; at "+
		"least 2m (default what the node file says, or wait)")
	form := c.String("log", "text", "`form` of what is said on the way: text, or json, an object in each line")
	c.jsonFlag("")
	path, err := c.parseFile()
	if err == nil {
		err = checkHTTP(*addr)
	}
	var end device.End
	if err == nil && c.given["until"] {
		if end, err = device.ParseEnd(*until, time.Now()); err != nil {
			err = asUsageError(fmt.Errorf("-until %w", err))
		}
	}
	if err == nil && *form != "text" && *form != "json" {
		err = asUsageError(fmt.Errorf("-log %q, want text or json", *form))
	}
	if err != nil {
		return err
	}
	file, err := readOwn(c.program, path)
	if err != nil {
		return asUsageError(err)
	}
	d, err := device.Load(file)
	if err != nil {
		return asUsageError(err)
	}
	if c.given["http"] {
		d.HTTP = *addr
	}
	f := d.Fleet.Fleet
	show := newProgress(c.log, f.Method)
	show.name = file.Name + ": "
	defer show.end()
	if *without != "" {
		d.Without = strings.Split(*without, ",")
	}
	if c.given["patience"] {
		d.File.Patience = *patience
	}
	d.Recover, d.Anyway, d.Noise, d.End = *restore, *anyway, testNoise, end
	if c.program.Noise != nil {
		d.Noise = c.program.Noise
	}
	d.Say = func(line string) { show.say("%s", line) }
	d.Released = func(round int, spent dpmech.Total) {
		show.method = d.Method() // nobody else looks at it
		show.round(round, spendNote(f.Privacy, spent))
	}
	if *form == "json" {
		d.Log = slog.NewJSONHandler(c.log, nil)
		log := slog.New(d.Log).With("run", f.Run, "node", file.Name)
		c.failed = func(text string) { log.Error(text) }
		d.Say = func(line string) { log.Info(line) }
		d.Released = func(round int, spent dpmech.Total) {
			log.Info("released", "round", round, "rounds", d.Method().Last(), "note", spendNote(f.Privacy, spent))
		}
	}
	d.Open = func(log *slog.Logger) (device.Link, error) { return c.program.Open(d, log) }
	o, err := d.Run(ctx)
	if errors.Is(err, sdk.ErrStop) {
		err = asUsageError(fmt.Errorf("-until: %w", err))
	}
	if err != nil {
		return err
	}
	r := &runResult{Outcome: *o}
	if !r.NonPrivate {
		r.Privacy = newPrivacy(o.Spent, f.Privacy, o.ConditionalOn)
	}
	if err := c.print(r, func(t table) { r.write(t, f.Method.EndedAt(o.EndedAfter)) }); err != nil {
		return err
	}
	return r.without()
}

// readOwn reads the file of a node that this program can run.
func readOwn(p *Program, path string) (*fleetfile.Node, error) {
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
	text := fmt.Sprintf("epsilon %s at delta %v", epsilonText(p.Accounting.Epsilon(spent.Rho, p.Delta)), p.Delta)
	if spent.All != spent.Rho {
		text += fmt.Sprintf(" (%s %s)", againstAll, epsilonText(p.Accounting.Epsilon(spent.All, p.Delta)))
	}
	return text
}

// runResult is the outcome of a node's run, and its JSON.
type runResult struct {
	device.Outcome
	Privacy *privacy `json:"privacy"`
}

// without is how a run ends that has come to its end without some neighbor, or nil.
func (r *runResult) without() error {
	if len(r.Quarantined) == 0 {
		return nil
	}
	return asExit(fmt.Errorf("done, with neighbors in quarantine: %s; spade-edge fleet remove takes a member out",
		strings.Join(r.Quarantined, "; ")), exitWithout)
}

// write prints the outcome for people.
func (r *runResult) write(t table, m sdk.Method) {
	one := releaseWord(m)
	t.row("node", "%q", r.Name)
	t.row("model", "sha256 %s after %d %ss of run %q", r.Model, r.Rounds, one, r.Run)
	if r.EndedAfter > 0 {
		t.row("early end", "after round %d of learning, as asked by %s", r.EndedAfter, wishText(r.Stops))
	}
	if r.Recovered > 0 {
		t.row("recovered", "after release %d, from what the neighbors knew", r.Recovered)
	}
	for _, s := range r.Suspects {
		t.row("suspect", "%s", s)
	}
	for _, q := range r.Quarantined {
		t.row("quarantine", "%s", q)
	}
	t.row("cost", "%d losses, %s sent, %.1f s", r.Queries, bytesText(r.BytesSent), r.Seconds)
	u := r.Usage
	t.row("usage", "%s written to disk, %s a %s; %s sent a %[3]s; %.3[5]g s of processor time, %.3[6]g ms a %[3]s",
		bytesText(u.DiskBytes), bytesText(u.DiskRound), one, bytesText(u.SentRound), u.CPUSeconds, 1000*u.CPURound)
	if r.Local != nil {
		t.row("accuracy", "%.2f %% of %d test samples, %.2f %% by always saying the most frequent class; "+
			"for this device only: the privacy guarantee does not cover it", r.Local.Accuracy, r.Local.Samples, r.Local.Majority)
	}
	if e := r.LocalErrors; e != nil {
		t.row("errors", "RMSE %.4g, MAE %.4g of %d test samples (always saying their mean: %.4g, %.4g); for this device only: "+
			"the privacy guarantee does not cover it", e.RMSE, e.MAE, e.Samples, e.MeanRMSE, e.MeanMAE)
	}
	(&result{Rounds: m.Data(r.Rounds), Privacy: r.Privacy}).writePrivacy(t)
	if r.Certificate != "" {
		t.row("certificate", "%s (spade-edge privacy -verify %s checks it)", r.Certificate, r.Certificate)
	}
}
