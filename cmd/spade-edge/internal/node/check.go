package node

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/builtin"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/setup"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task/screen"
	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/device"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/pair"
	"github.com/spade-dfl/spade-edge/sdk/plan"
	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/sdk/wire"
	"github.com/spade-dfl/spade-edge/transport"
)

// finding is one line of the check command's output.
type finding struct {
	Item    string `json:"item"`
	Verdict string `json:"verdict"` // ok, warn or fail
	Text    string `json:"text"`
}

// Checkup is the result of the check command, printed as text or, with -json, as JSON.
type Checkup struct {
	Node  string    `json:"node"` // path of the node file
	OK    bool      `json:"ok"`
	Code  int       `json:"exit_code"`
	Items []finding `json:"items"`

	Data *screen.Report `json:"data,omitempty"` // a report on the table that the node learns from; nil if it has no table

	timeout  time.Duration
	lost     float64 // the largest share of unreadable rows, in [0, 1], with which check succeeds
	anyDelta bool
	anyway   bool
	program  *cli.Program
	bad      []string // the items that failed
}

// Check is the command that checks whether a node is ready to run.
func Check(ctx context.Context, cmd *cli.Cmdline) error {
	offline := cmd.Bool("offline", false, "do not contact the neighbors")
	edges := cmd.Bool("edges", false, "only try every address of every neighbor")
	timeout := cmd.Duration("timeout", 30*time.Second, "how long the oracle, and each neighbor, has to answer")
	unreadable := cmd.String("unreadable", "5%", "the largest `share` of a table's rows that may be unreadable; check fails above it")
	anyDelta := cmd.Bool("any-delta", false, setup.AnyDeltaUsage)
	anyway := cmd.Bool("anyway", false, "as in run: accept a forecast that the run gains next to nothing")
	cmd.JSONFlag()
	path, err := cmd.ParseFile()
	if err != nil {
		return err
	}
	var wrong cli.Faults
	wrong.When(*timeout <= 0, "-timeout is %v, want more than 0", *timeout)
	wrong.When(*edges && *offline, "-edges and -offline cannot be combined")
	lost, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(*unreadable, "%")), 64)
	wrong.When(err != nil || !strings.HasSuffix(*unreadable, "%") || !(lost >= 0 && lost <= 100),
		"-unreadable is %q, want a percentage from 0%% to 100%%, such as 10%%", *unreadable)
	if err := wrong.Usage(); err != nil {
		return err
	}
	c := &Checkup{Node: path, OK: true, timeout: *timeout, lost: lost / 100, anyDelta: *anyDelta, anyway: *anyway, program: cmd.Program}
	c.everything(ctx, path, *offline, *edges)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	err = cmd.Print(c, func(t cli.Table) {
		for _, f := range c.Items {
			fmt.Fprintf(t, "%-5s %-22s %s\n", f.Verdict, f.Item, f.Text)
		}
		c.table(t)
	})
	if !c.OK {
		err = cli.AsExit(errors.Join(fmt.Errorf("not ready to run: %s", strings.Join(c.bad, ", ")), err), c.Code)
	}
	return err
}

func (c *Checkup) add(item, level, format string, args ...any) {
	text := cli.OneLine(fmt.Sprintf(format, args...))
	c.Items = append(c.Items, finding{item, level, text})
}

func (c *Checkup) ok(item, format string, args ...any)   { c.add(item, "ok", format, args...) }
func (c *Checkup) warn(item, format string, args ...any) { c.add(item, "warn", format, args...) }

// fail adds a failed item. The parameter code is the exit code with which "spade-edge run" would fail for the same
// reason. "spade-edge check" exits with the code of the first failed item.
func (c *Checkup) fail(item string, code int, err error) {
	if c.OK {
		c.OK, c.Code = false, code
	}
	c.bad = append(c.bad, item)
	c.add(item, "fail", "%v", cli.Cured(err))
}

// codeOf returns the exit code of "spade-edge run" after the error err.
func codeOf(err error) int { return cli.ExitCode(err, "", io.Discard) }

// everything performs the checks in order. It skips a check if an earlier check on which it depends has failed.
func (c *Checkup) everything(ctx context.Context, path string, offline, edges bool) {
	node, err := readOwn(c.program, path)
	if err != nil {
		c.fail("node file", cli.ExitUsage, err)
		return
	}
	c.ok("node file", "%q of %s", node.Name, node.Fleet)
	file, key, err := node.Load()
	if err != nil {
		c.fail("files", cli.ExitUsage, err)
		return
	}
	f, hash := file.Fleet, file.Fleet.Hash()
	c.ok("fleet file", "run %q, %d members, %d parameters, hash %x", f.Run, len(file.Members), f.Dim, hash[:8])
	c.ok("key", "is %q's in the fleet file, and nobody else can read it; fingerprint %s", node.Name,
		signed.Fingerprint(key.Public().(ed25519.PublicKey)))
	d := &device.Device{File: node, Fleet: file, Key: key}
	var errProxy error
	if d.Proxy, errProxy = node.OpenProxy(); errProxy != nil {
		c.fail("proxy", cli.ExitUsage, errProxy)
	}
	if m := node.Metrics; m != nil {
		if _, _, err := m.Open(); err != nil {
			c.fail("metrics", cli.ExitUsage, err)
		} else {
			c.ok("metrics", "for an authenticated collector, at %s", m.Listen)
		}
	}
	var errOracle error
	if !edges {
		errOracle = c.parts(ctx, node, file)
	}
	switch {
	case errors.Is(errOracle, builtin.ErrOwnFit):
		c.warn("neighbors", "not asked: they would learn that this node cannot start because of its data")
	case offline:
		c.warn("neighbors", "not asked: -offline")
	case errProxy == nil:
		c.neighbors(ctx, d, edges)
	}
}

// parts checks the node's data, its state and ledger files, its port and its settings. It returns the error from
// opening the oracle, or nil.
func (c *Checkup) parts(ctx context.Context, node *fleetfile.Node, file *fleetfile.File) (errOracle error) {
	f := file.Fleet
	within, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	cfg := sdk.Config{Fleet: file, Name: node.Name, MemoryLimit: node.MemoryLimit,
		PairKeys: state.PairKeys(node.PairKeys)}
	began := time.Now()
	var own *fleetfile.Source
	if errOracle = setup.Filled(node.Oracle); errOracle == nil {
		own, errOracle = node.Oracle.Open(within, file)
	}
	loaded := time.Since(began)
	if own != nil {
		cfg.Oracle, cfg.Samples = own.Oracle, own.Samples
		c.rows(own.Rows)
		c.backwards(own, f)
	}
	var errLedger error
	if node.Ledger != "" && !f.Privacy.NonPrivate {
		cfg.Ledger, errLedger = state.ReadLedger(node.Ledger)
	}
	used, remarks, errState := folderOf(node)
	r := plan.Preflight(within, cfg, func() (*wire.Snapshot, error) {
		if errState != nil {
			return nil, fs.ErrNotExist // an unreadable folder's snapshot is not reliable
		}
		kept, err := state.ReadSnapshot(node.State)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			errState = err
		}
		return kept, err
	})
	restarts, restart := 0, error(nil)
	if own != nil {
		if own.Restarts != nil {
			restarts, restart = own.Restarts()
		}
		r.Oracle = cmp.Or(r.Oracle, own.Close())
	}
	if r.Config != nil {
		c.fail("settings", cli.ExitUsage, r.Config)
	}
	c.state(node, f, r, used, remarks, errState)
	c.disk(node, r.Space)
	c.pairKeys(node, f, r.Pair)
	c.privacy(file, cfg.Ledger, state.LostLedger(cmp.Or(errLedger, r.Ledger), node.Ledger, node.State, r.Kept != nil), r)
	c.listen(node, file.Members[slices.Index(f.Members, node.Name)].Addresses, used)
	switch {
	case errOracle != nil:
		c.fail("oracle", codeOf(errOracle), errOracle)
	case r.Oracle != nil && own.Rows.Lost > 0 && within.Err() == nil:
		c.warn("oracle", "the first rows cannot be read and have no loss: see rows; %d samples", own.Samples)
	case r.Oracle != nil:
		c.fail("oracle", cli.ExitFailed, r.Oracle)
	default:
		c.ok("oracle", "a finite loss in %v, ready after %v; %d samples",
			r.Answered.Round(time.Microsecond), loaded.Round(time.Millisecond), own.Samples)
	}
	if r.Losses != nil {
		c.losses(f, own, r, restarts, restart)
	}
	c.data(within, node, f)
	if r.Saddle > 0 {
		c.warn("start", "zeros, a saddle point of this model: %d parameters change a loss only together, as those of hidden layers "+
			"do, so the run learns little or nothing from there. init -x0 normal:0.1 makes another start (found with this node's "+
			"own data: the privacy guarantee does not cover it)", r.Saddle)
	}
	return errOracle
}

// folderOf reports whether a node is running, and what is remarkable or wrong in its state folder.
func folderOf(node *fleetfile.Node) (used bool, remarks []string, err error) {
	used, err = state.InUse(node.State)
	var folder state.Report
	if err == nil {
		folder, err = state.Inspect(node.State)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist): // the run has not begun
		err = nil
	case err == nil && !used: // a running node may be writing a slot
		err = folder.Refused
	}
	return used, folder.Remarks, err
}

func (c *Checkup) state(node *fleetfile.Node, f *sdk.Fleet, r *plan.PreflightReport, used bool, remarks []string, err error) {
	const item = "state"
	last, running := f.Method.Last(), ""
	if used {
		running = "; the node is running"
	}
	switch {
	case err != nil:
		c.fail(item, codeOf(err), err)
		return
	case r.State != nil:
		c.fail(item, cli.ExitMismatch, fmt.Errorf("%s: %w", node.State, r.State))
		return
	case r.Kept == nil:
		c.ok(item, "%s is new%s", node.State, running)
	case r.Kept.State.Round == last:
		c.ok(item, "the run is done: run serves its last round to neighbors that still need it%s", running)
	default:
		c.ok(item, "continues after round %d of %d%s", r.Kept.State.Round, last, running)
	}
	if r.Changed != "" {
		c.warn(item, "%s", r.Changed)
	}
	for _, remark := range remarks {
		c.warn(item, "%s", remark)
	}
}

// disk compares the free space with what the rest of the run needs. A disk that is full stops a node.
func (c *Checkup) disk(node *fleetfile.Node, needs int64) {
	free, known := device.Free(node.State)
	if err := device.DiskFull(node.State, needs, free); known && needs > 0 && err != nil {
		c.fail("disk", cli.ExitFailed, err)
	} else if known && needs > 0 {
		c.ok("disk", "%s free, and the rest of the run needs up to %s", cli.BytesText(free), cli.BytesText(needs))
	}
}

// pairKeys reports whether this device has its one-time key of the run, and how many it has left.
func (c *Checkup) pairKeys(node *fleetfile.Node, f *sdk.Fleet, err error) {
	const item = "one-time keys"
	if f.PairKeys == nil {
		return
	}
	left, read := state.PairKeys(node.PairKeys).Unused(node.Name)
	if err = cmp.Or(err, read); err != nil {
		c.fail(item, codeOf(err), err)
		return
	}
	left = slices.DeleteFunc(left, func(k pair.Public) bool { return slices.Contains(f.PairKeys, k) })
	c.ok(item, "this run has one, and %d are left for later runs", len(left))
}

// privacy reports the cost and the forecast of the run, and whether the cost fits the run's limit and the ledger's
// remaining budget.
func (c *Checkup) privacy(file *fleetfile.File, ledger *state.Ledger, errLedger error, r *plan.PreflightReport) {
	f := file.Fleet
	pr := f.Privacy
	switch {
	case pr.NonPrivate:
		c.warn("privacy", "NOT PRIVATE: what this node sends may reveal its data")
	case r.Privacy != nil:
		c.fail("privacy", codeOf(r.Privacy), r.Privacy)
	default:
		cost := cli.CostText(f.Total(f.Method.Rounds), pr.Delta, pr.Accounting, pr.Protects())
		c.ok("privacy", "%d rounds cost, at delta %v (%v), %s", f.Method.Rounds, pr.Delta, pr.Accounting, cost)
		if r.Forecast != nil {
			verdict := "warn"
			if r.Forecast.Gain >= plan.Enough {
				verdict = "ok"
			}
			c.add("forecast", verdict, "%s", setup.ForecastText(f, r.Forecast))
		}
		begun := r.Kept != nil && r.Kept.State.Round > 0
		if err := plan.Hopeless(file); err != nil && !begun && !c.anyway { // as device.Run
			c.fail("forecast", codeOf(err), err)
		}
	}
	if weak := plan.WeakDelta(pr.Delta, pr.Protects(), plan.Units(f)); weak != "" && !pr.NonPrivate {
		if pr.Delta < plan.MostDelta || c.anyDelta {
			c.warn("delta", "%s", weak)
		} else {
			c.fail("delta", cli.ExitRefused, fmt.Errorf("%s; make the fleet with a smaller delta, or accept it with -any-delta", weak))
		}
	}
	if errLedger != nil {
		c.fail("ledger", codeOf(errLedger), errLedger)
	} else if ledger != nil {
		life := ledger.Lifetime(pr.Delta)
		covered := "it has no limit"
		if life.Limit != nil {
			covered = "the rest of this run is covered by its limit, " + life.Limit.String()
		}
		c.ok("ledger", "%q has spent %s, in %d releases of all runs; %s", life.Dataset,
			cli.CostText(life.Total(), pr.Delta, dpmech.GDP, life.Unit), life.Ledger.Seq, covered)
	}
}

// listen binds the node's port to check that it is free, unless the node is already running (used). It prints the
// addresses that the fleet file has for the node: only a person can tell whether they lead to this port, unless they are
// addresses of this machine for itself, or the port is another one at each start.
func (c *Checkup) listen(node *fleetfile.Node, dialed []string, used bool) {
	if node.Listen == "" {
		c.ok("listen", "not needed: this node only dials out")
	} else if used {
		c.ok("listen", "the running node has %s", node.Listen)
	} else if l, err := net.Listen("tcp", node.Listen); err != nil {
		c.fail("listen", cli.ExitFailed, err)
	} else {
		wrong := slices.Clone(dialed)
		if !strings.HasSuffix(node.Listen, ":0") {
			wrong = slices.DeleteFunc(wrong, mayLeadHere)
		}
		if _ = l.Close(); len(wrong) > 0 {
			c.warn("listen", "%s can be bound, but %s, which neighbors dial, does not lead there", node.Listen, strings.Join(wrong, ", "))
			return
		}
		c.ok("listen", "%s can be bound, and neighbors dial %s", node.Listen, cmp.Or(strings.Join(dialed, ", "), "no address of this node"))
	}
}

// mayLeadHere reports whether an address may lead to a port that this machine listens on. It returns false only if the
// address is one of the machine for itself, and nothing listens there.
func mayLeadHere(address string) bool {
	host, at, err := transport.ParseAddress(address)
	if err != nil || !net.ParseIP(host).IsLoopback() {
		return true
	}
	conn, err := net.DialTimeout("tcp", at, time.Second)
	if err == nil {
		_ = conn.Close()
	}
	return err == nil
}

// neighbors connects to all peers: at one address of each peer or, if every is true, at all of its addresses.
func (c *Checkup) neighbors(ctx context.Context, d *device.Device, every bool) {
	answers := c.program.Ask(ctx, d, c.timeout, every)
	for _, a := range answers {
		switch {
		case a.Err == nil:
			c.ok(a.Who, "%s", a.Text)
		case a.Code != 0:
			c.fail(a.Who, a.Code, a.Err)
		default:
			c.warn(a.Who, "%v", a.Err)
		}
	}
	if len(answers) == 0 {
		c.ok("neighbors", "none")
	}
}
