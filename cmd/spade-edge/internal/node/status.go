package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/verdict"
	"github.com/spade-dfl/spade-edge/dpmech/explain"
	"github.com/spade-dfl/spade-edge/sdk/device"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/monitor"
)

// Status is the command that prints the status of a node.
func Status(ctx context.Context, c *cli.Cmdline) error {
	c.JSONFlag()
	path, err := c.ParseFile()
	if err != nil {
		return err
	}
	site, err := readSite(path)
	if err != nil {
		return err
	}
	st, err := device.StatusOf(ctx, site.Node, site.Fleet)
	if err != nil {
		return err
	}
	v := readVerdict(c.Log, site)
	return c.Print(struct {
		*monitor.Status
		Verdict *verdict.Verdict `json:"verdict,omitempty"`
	}{st, v}, func(t cli.Table) {
		WriteStatus(t, st)
		verdictRows(t, v, st.NonPrivate)
	})
}

// WriteStatus prints a node's status as text.
func WriteStatus(b cli.Table, s *monitor.Status) {
	mark, since := "", ""
	if s.NonPrivate {
		mark = ", NOT PRIVATE"
	}
	if s.Running && s.Seconds >= 2 {
		since = " for " + cli.Duration(s.Seconds)
	}
	b.Row("node", "%q of run %q%s", s.Name, s.Run, mark)
	b.Row("state", "%s%s", device.Activity(s), since)
	if s.Phase != monitor.Failed {
		b.Row("fault", "%s", s.Fault)
	}
	for _, e := range s.Evidence {
		b.Row("evidence", "%v", e)
	}
	for _, o := range s.OtherLedgers {
		b.Row("ledger", "%v", o)
	}
	b.Row("data", "%s", s.DataChanged)
	if s.Mixing == 0 {
		b.Row("round", "%d of %d (%d of learning, %d of cool-down)", s.Round, s.Rounds+s.Cooldown, s.Rounds, s.Cooldown)
	} else {
		b.Row("release", "%s; %d of cool-down at the end", strings.TrimPrefix(s.Progress(), "release "), s.Cooldown)
	}
	if s.Privacy != nil {
		privacyRows(b, s.Privacy)
	}
	if !s.Running {
		for _, n := range s.Neighbors {
			if q := n.Quarantine; q != nil {
				b.Row("quarantine", "%q from release %d on: %s", n.Name, q.Release, q.Reason)
			}
		}
		if s.Local != nil {
			lossRows(b, s.Queries, &s.Local.Losses)
		}
		return
	}
	neighborRows(b, s)
	if s.ConsensusError.Known() {
		b.Row("consensus error", "%.3g, mean squared distance from the neighbors' releases of round %d", s.ConsensusError, s.Compared)
	}
	b.Row("cost", "%d losses, %s of messages, sent or waiting", s.Queries, cli.BytesText(s.FrameBytes))
	if s.Local != nil {
		lossRows(b, s.Queries, &s.Local.Losses)
		if left := s.Local.FirstRound; left >= 10 {
			b.Row("first round", "ends in about %s (for this device only)", cli.Duration(left))
		}
		ownRows(b, s.Local, s.NonPrivate)
	}
}

// privacyRows prints the privacy cost of this run, and of all runs together.
func privacyRows(b cli.Table, p *monitor.Privacy) {
	b.Row("privacy", "%s, at delta %v (%s)%s", p.Text, p.Delta, p.Accounting, cli.EachText(p.Unit))
	var allowed []string
	for _, a := range p.Against {
		if a.Limit.Known() {
			allowed = append(allowed, fmt.Sprintf("%v against %s", a.Limit, a.Adversary))
		}
	}
	limit := ""
	if allowed != nil {
		limit = "; allowed: " + strings.Join(allowed, ", ")
	}
	b.Row("whole run", "%s%s", p.TextPlanned, limit)
	if l := p.Lifetime; l != nil {
		runs := fmt.Sprintf("over %d runs", l.Runs)
		switch l.Runs {
		case 0:
			runs = "before its first run"
		case 1:
			runs = "over 1 run"
		}
		b.Row("lifetime", "%s%s, of the data set %q, %s", l.Text, cli.EachText(l.Unit), l.Dataset, runs)
	}
}

// ownRows prints values that come from the device's own data and never leave the device.
func ownRows(b cli.Table, l *monitor.Local, nonPrivate bool) {
	covered := ""
	if !nonPrivate {
		covered = "; for this device only: the privacy guarantee does not cover it"
	}
	accuracy := ""
	if l.Accuracy.Known() {
		accuracy = fmt.Sprintf("accuracy %.2f %%, ", 100*l.Accuracy)
	}
	if l.Majority.Known() {
		accuracy += fmt.Sprintf("%.2f %% by always saying the most frequent class, ", 100*l.Majority)
	}
	switch {
	case l.Round == 0:
	case l.OfQueries:
		b.Row("own data", "mean loss %.4g of the program's answers for round %d%s", l.Loss, l.Round, covered)
	default:
		b.Row("own data", "%sloss %.4g after round %d%s", accuracy, l.Loss, l.Round, covered)
	}
}

// lossRows prints what the owner must know of losses, of which so many were asked for.
func lossRows(b cli.Table, asked int64, l *monitor.Losses) {
	if l.Flat != "" {
		b.Row("losses", "%s (for this device only)", l.Flat)
	}
	if failed := l.FailedQueries; failed > 0 {
		what := fmt.Sprintf("%d of %d losses could not be computed", failed, asked)
		if failed >= asked {
			what = fmt.Sprintf("all %d losses: the model has learned nothing from this node", failed)
		}
		b.Row("failed", "%s (for this device only). The last reason:", what)
		b.Row("", "%s", l.LastFailure)
	}
	if l.Restarts > 0 {
		b.Row("restarts", "the program that computes losses was started again %s (for this device only). Its last end:", times(l.Restarts))
		b.Row("", "%s", l.LastRestart)
	}
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// neighborRows prints the neighbors. Those that [monitor.Neighbor].Like puts together share a row.
func neighborRows(b cli.Table, s *monitor.Status) {
	alike := map[string][]string{}
	for _, n := range s.Neighbors {
		alike[n.Like] = append(alike[n.Like], n.Name)
	}
	head := "neighbors"
	for _, n := range s.Neighbors {
		switch n.Like {
		case "":
			b.Row(head, "%q: %s", n.Name, neighborText(s, &n))
		case n.Name:
			b.Row(head, "%s: each %s", explain.Names(alike[n.Name]), neighborText(s, &n))
		default:
			continue
		}
		head = ""
	}
}

func neighborText(s *monitor.Status, n *monitor.Neighbor) string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if l := n.Link; l != nil {
		switch {
		case l.Refusal != "":
			add("refused (%s)", l.Refusal)
		case l.Silent:
			add("silent for %s (%s; the broker works)", cli.Duration(l.Seconds), heardText(l))
		case l.Connected:
			add("connected for %s%s", cli.Duration(l.Seconds), howText(l))
			if l.Broker {
				add("%s", heardText(l))
			}
		case l.Fault != "":
			add("not connected for %s (%s)", cli.Duration(l.Seconds), l.Fault)
		default:
			add("not connected for %s", cli.Duration(l.Seconds))
		}
		if l.Lost > 0 {
			add("lost %s (%s)", times(l.Lost), l.LostBy)
		}
	}
	switch {
	case n.Behind > 0:
		add("%d behind, in round %d", n.Behind, n.Round)
	case n.Behind < 0:
		add("one ahead, in round %d", n.Round)
	case n.Round > 0 || n.Link == nil || n.Link.Connected || n.Link.Heard > 0 || n.Link.Received > 0: // reached at least once
		add("in step")
	}
	if n.Missing && s.Seconds >= 2 {
		add("this node has waited for it for %s", cli.Duration(s.Seconds))
	}
	if l := n.Link; l != nil {
		add("%s sent, %s received", cli.BytesText(l.Sent), cli.BytesText(l.Received))
	}
	if n.Refused > 0 {
		add("%d frames refused", n.Refused)
	}
	if q := n.Quarantine; q != nil {
		add("IN QUARANTINE from release %d on: %s", q.Release, q.Reason)
	}
	return strings.Join(parts, ", ")
}

// heardText says when a neighbor was last heard through a broker.
func heardText(l *monitor.Link) string {
	if l.Heard == 0 {
		return "not heard since this node started"
	}
	return "last heard at " + time.Now().Add(-time.Duration(l.Heard*float64(time.Second))).UTC().Format(time.RFC3339)
}

func howText(l *monitor.Link) string {
	if l.Address == "" {
		return ""
	}
	through := ""
	if l.Proxy != "" {
		through = " through " + l.Proxy
	}
	return fmt.Sprintf(" (%s %s%s)", cmp.Or(l.How, "at"), l.Address, through)
}

// readSite reads a node file and its fleet file. It does not read the key.
func readSite(path string) (site *verdict.Site, err error) {
	site = new(verdict.Site)
	if site.Node, err = fleetfile.ReadNode(path); err == nil {
		site.Fleet, err = fleetfile.Read(site.Node.Fleet)
	}
	return site, cli.AsUsageError(err)
}

// Stopped is the result of the stop command, printed as text or JSON. Round counts the releases made until the stop.
type Stopped struct {
	WasRunning bool `json:"was_running"`
	Round      int  `json:"round"`
	Rounds     int  `json:"rounds"`
	Cooldown   int  `json:"cooldown"`
}

// Stop is the command that stops a running node. The node can continue later.
func Stop(ctx context.Context, c *cli.Cmdline) error {
	timeout := c.Duration("timeout", time.Minute, "how long to wait until the node has ended")
	c.JSONFlag()
	path, err := c.ParseFile()
	if err != nil {
		return err
	}
	if *timeout <= 0 {
		return cli.Usage("-timeout is %v, want more than 0", *timeout)
	}
	site, err := readSite(path)
	if err != nil {
		return err
	}
	within, cancel := context.WithTimeout(ctx, *timeout)
	defer cancel()
	err = device.AskStop(within, site.Node.State)
	running := !errors.Is(err, device.ErrNotRunning)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case within.Err() != nil:
		return fmt.Errorf("node %q was asked to stop, but is still running after %v", site.Node.Name, *timeout)
	case err != nil && running:
		return err
	}
	st, err := device.Left(site.Node, site.Fleet)
	if err != nil {
		return err
	}
	r := Stopped{running, st.Round, st.Rounds, st.Cooldown}
	return c.Print(r, func(t cli.Table) {
		said := "node %q of run %q has stopped after round %d of %d\n"
		if !running {
			said = "node %q of run %q does not run; it has made %d of %d releases\n"
		}
		fmt.Fprintf(t, said, st.Name, st.Run, st.Round, st.Rounds+st.Cooldown)
	})
}
