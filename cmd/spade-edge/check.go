package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/transport/ws"
)

var checkCommand = &command{
	name:  "check",
	short: "whether a node is fit to run",
	run:   checkNode,
}

// The verdicts of check.
const (
	verdictOK   = "ok"
	verdictWarn = "warn"
	verdictFail = "fail"
)

// finding is a line of check.
type finding struct {
	Item    string `json:"item"`
	Verdict string `json:"verdict"`
	Text    string `json:"text"`
}

// checkup is the outcome of check, and its JSON.
type checkup struct {
	Node  string    `json:"node"` // the node file
	OK    bool      `json:"ok"`
	Code  int       `json:"exit_code"`
	Items []finding `json:"items"`

	timeout time.Duration
}

func checkNode(ctx context.Context, cmd *command, args []string, out, log io.Writer) error {
	fs := cmd.flags()
	offline := fs.Bool("offline", false, "leave the neighbors out")
	timeout := fs.Duration("timeout", 30*time.Second, "how long the oracle, and each neighbor, has to answer")
	asJSON := fs.Bool("json", false, "print one JSON object to standard output")
	path, err := cmd.parseFile(fs, args, out)
	if err != nil {
		return err
	}
	if *timeout <= 0 {
		return usageError{fmt.Errorf("-timeout is %v, want more than 0", *timeout)}
	}
	c := &checkup{Node: path, OK: true, timeout: *timeout}
	c.everything(ctx, path, *offline)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if *asJSON {
		if err := writeObject(out, c); err != nil {
			return err
		}
	} else {
		for _, f := range c.Items {
			fmt.Fprintf(out, "%-5s %-22s %s\n", f.Verdict, f.Item, f.Text)
		}
	}
	if c.OK {
		return nil
	}
	var bad []string
	for _, f := range c.Items {
		if f.Verdict == verdictFail {
			bad = append(bad, f.Item)
		}
	}
	return verdict{fmt.Errorf("not fit to run: %s", strings.Join(bad, ", ")), c.Code}
}

func (c *checkup) add(item, verdict, format string, args ...any) {
	text := strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", "; ")
	c.Items = append(c.Items, finding{item, verdict, text})
}

func (c *checkup) ok(item, format string, args ...any)   { c.add(item, verdictOK, format, args...) }
func (c *checkup) warn(item, format string, args ...any) { c.add(item, verdictWarn, format, args...) }

// fail notes that something is wrong, and what run would end with.
func (c *checkup) fail(item string, code int, err error) {
	if c.OK {
		c.OK, c.Code = false, code
	}
	c.add(item, verdictFail, "%v", err)
}

// codeOf is what run would end with after an error.
func codeOf(err error) int { return exitCode(err, "", io.Discard) }

// everything looks at one thing after the other, as far as those before allow.
func (c *checkup) everything(ctx context.Context, path string, offline bool) {
	node, err := fleetfile.ReadNode(path)
	if err != nil {
		c.fail("node file", exitUsage, err)
		return
	}
	if node.NATS != nil {
		c.fail("node file", exitUsage, errNATS)
		return
	}
	c.ok("node file", "%q of %s", node.Name, node.Fleet)
	file, err := fleetfile.Read(node.Fleet)
	if err != nil {
		c.fail("fleet file", exitUsage, err)
	} else {
		hash := file.Fleet.Hash()
		c.ok("fleet file", "run %q, %d members, %d parameters, hash %x", file.Fleet.Run, len(file.Members), file.Fleet.Dim, hash[:8])
	}
	key, err := fleetfile.ReadKey(node.Key)
	if err != nil {
		c.fail("key", exitUsage, err)
	}
	if file == nil || key == nil {
		return
	}
	link, err := file.Transport(node.Name, key, node.Listen)
	if err != nil {
		c.fail("key", exitUsage, err)
	} else {
		c.ok("key", "is %q's in the fleet file, and nobody else can read it", node.Name)
	}
	if _, _, together := node.Load(); err == nil && together != nil {
		c.fail("ledger", exitUsage, together) // there must be one, or must not: all else is known to be right
	}
	used, usedErr := sdk.DirInUse(node.State)
	kept := c.state(node, file, used, usedErr)
	c.budget(node, file, kept)
	c.listen(node, used)
	samples := c.oracle(ctx, node, file)
	c.room(node, file, samples)
	switch {
	case err != nil:
	case offline:
		c.warn("neighbors", "left out: -offline")
	default:
		c.neighbors(ctx, link)
	}
	c.ok("clock", "not needed: keys do not expire")
}

// state looks at the state folder and returns what is kept there, or nil.
func (c *checkup) state(node *fleetfile.Node, file *fleetfile.File, used bool, err error) *sdk.Kept {
	const item = "state"
	if err != nil {
		c.fail(item, exitFailed, err)
		return nil
	}
	report, err := sdk.InspectDir(node.State)
	if errors.Is(err, fs.ErrNotExist) {
		c.ok(item, "%s is made when the run begins", node.State)
		return nil
	} else if err != nil {
		c.fail(item, exitFailed, err)
		return nil
	}
	if report.Refused != nil && !used { // beside a node at work a slot may just be half written
		c.fail(item, codeOf(report.Refused), report.Refused)
		return nil
	}
	kept, err := sdk.ReadKept(node.State)
	m := file.Fleet.Method
	running := ""
	if used {
		running = "; the node is running"
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		c.ok(item, "%s is new%s", node.State, running)
		return nil
	case err != nil:
		c.fail(item, exitFailed, err)
		return nil
	case kept.Fleet != file.Fleet.Hash() || kept.Member != node.Name:
		c.fail(item, exitMismatch, fmt.Errorf("%s holds round %d of %q in another fleet, with hash %x: give this run a folder of its own", node.State, kept.Round, kept.Member, kept.Fleet[:8]))
		return nil
	case kept.Round == m.Rounds+m.Cooldown:
		c.ok(item, "the run is done: run serves its last round to neighbors that still need it%s", running)
	default:
		c.ok(item, "goes on after round %d of %d%s", kept.Round, m.Rounds+m.Cooldown, running)
	}
	for _, remark := range report.Remarks {
		c.warn(item, "%s", remark)
	}
	return kept
}

// budget looks at the limit of the run and at the ledger.
func (c *checkup) budget(node *fleetfile.Node, file *fleetfile.File, kept *sdk.Kept) {
	const item = "privacy"
	f := file.Fleet
	pr, rounds := f.Privacy, f.Method.Rounds
	if pr.NonPrivate {
		c.warn(item, "NOT PRIVATE: what this node sends may reveal its data")
		return
	}
	g := dpmech.Gaussian{Clip: pr.Clip, Sigma: pr.Sigma}
	acc := pr.Accounting
	most := rounds
	var err error
	if pr.EpsilonLimit > 0 {
		most, err = dpmech.MaxRounds(g, pr.EpsilonLimit, pr.Delta, acc)
	}
	if err == nil && most < rounds {
		err = fmt.Errorf("%w: epsilon_limit %v (%v at delta %v) covers %d of %d rounds", dpmech.ErrBudget, pr.EpsilonLimit, acc, pr.Delta, most, rounds)
	}
	if err != nil {
		c.fail(item, codeOf(err), err)
	} else {
		c.ok(item, "epsilon %s (%v) at delta %v over %d rounds", epsilonText(acc.Epsilon(f.Rho(), pr.Delta)), acc, pr.Delta, rounds)
	}
	const book = "ledger"
	if node.Ledger == "" {
		return // told already
	}
	l, err := dpmech.ReadLedger(node.Ledger)
	if err != nil {
		c.fail(book, exitFailed, err)
		return
	}
	var head dpmech.Head
	if kept != nil && kept.Ledger != "" {
		if err = json.Unmarshal([]byte(kept.Ledger), &head); err == nil {
			err = l.Contains(head)
		}
	}
	last, marked := l.Last(f.Run, f.Hash(), node.Name), l.Marked(f.Run, f.Hash(), node.Name)
	behind := func() (round int, err error) {
		if kept == nil {
			return 0, dpmech.CheckKept(0, last, marked)
		}
		return kept.Round, dpmech.CheckKept(max(kept.Round, kept.Blank), last, marked)
	}
	round, lost := behind()
	if now, e := sdk.ReadKept(node.State); lost != nil && kept != nil && e == nil { // a node at work may have gone on in between
		kept = now
		round, lost = behind()
	}
	if err == nil && lost != nil {
		err = fmt.Errorf("%w: the ledger has release %d of this run, and the state ends with %d (%w)", sdk.ErrRollback, last, round, lost)
	}
	if err == nil {
		err = l.Covers(f.Run, f.Hash(), node.Name, rounds, g)
	}
	if err != nil {
		c.fail(book, codeOf(err), err)
		return
	}
	life := l.Lifetime(pr.Delta)
	c.ok(book, "%q has spent epsilon %s in %d releases of all runs, and the rest of this run is covered", life.Dataset, epsilonText(life.EpsilonGDP), life.Ledger.Seq)
}

// listen binds the port, unless the node itself has it.
func (c *checkup) listen(node *fleetfile.Node, used bool) {
	const item = "listen"
	switch {
	case node.Listen == "":
		c.ok(item, "not needed: no neighbor dials this node")
		return
	case used:
		c.ok(item, "%s is the running node's", node.Listen)
		return
	}
	l, err := net.Listen("tcp", node.Listen)
	if err == nil {
		err = l.Close()
	}
	if err != nil {
		c.fail(item, exitFailed, err)
		return
	}
	c.ok(item, "%s can be bound", node.Listen)
}

// oracle asks one query and returns how many samples there are, 0 if that is not known. The loss itself is nobody's business.
func (c *checkup) oracle(ctx context.Context, node *fleetfile.Node, file *fleetfile.File) (samples int) {
	const item = "oracle"
	if s := node.Oracle.Stream; s != nil && s.Command[0] == gap {
		c.fail(item, exitUsage, errors.New("the node file has a gap: put in what this node learns from, a stream, a oneshot or a builtin (go doc of sdk/fleetfile shows them)"))
		return 0
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	start := time.Now()
	own, err := loadOracle(ctx, node.Oracle, file)
	if err != nil {
		c.fail(item, codeOf(err), err)
		return 0
	}
	loaded := time.Since(start)
	x := file.Fleet.X0
	if x == nil {
		x = make([]float32, file.Fleet.Dim)
	}
	start = time.Now()
	loss, err := prompt(ctx, func() (loss float64, err error) {
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("it has panicked: %v", p)
			}
		}()
		return own.Oracle.Loss(ctx, x, 0)
	})
	took := time.Since(start)
	if closed := own.Close(); err == nil {
		err = closed
	}
	if err == nil && (math.IsNaN(loss) || math.IsInf(loss, 0)) {
		err = fmt.Errorf("the loss at the start is %v, want a finite number", loss)
	}
	if err != nil {
		c.fail(item, exitFailed, err)
		return own.Samples
	}
	c.ok(item, "a finite loss in %v, ready after %v; %d samples", took.Round(time.Microsecond), loaded.Round(time.Millisecond), own.Samples)
	return own.Samples
}

// room compares what the state still needs with what is free on its disk.
func (c *checkup) room(node *fleetfile.Node, file *fleetfile.File, samples int) {
	const item = "disk"
	m := file.Fleet.Method
	if m.Estimator == sdk.EstimatorCentered && samples == 0 {
		return // not known, and the reason is told
	}
	size := file.Fleet.StateSize(node.Name, samples)
	need := 2 * (int64(size) + sdk.MaxNote + slotExtra)
	for i := range 2 {
		if info, err := os.Stat(filepath.Join(node.State, fmt.Sprintf("slot-%d", i))); err == nil {
			need -= min(info.Size(), need)
		}
	}
	const line = 512 // of the log and of the ledger, generously
	need += line * int64(m.Rounds+m.Cooldown)
	if node.Ledger != "" {
		need += line * int64(m.Rounds)
	}
	dir, err := filepath.Abs(node.State)
	for err == nil {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	free, err := freeSpace(dir)
	switch {
	case err != nil:
		c.warn(item, "%s are needed; what is free cannot be told: %v", bytesText(need), err)
	case free < need:
		c.fail(item, exitFailed, fmt.Errorf("%s are needed and %s free at %s", bytesText(need), bytesText(free), dir))
	default:
		c.ok(item, "%s are needed and %s free at %s", bytesText(need), bytesText(free), dir)
	}
}

// neighbors asks every neighbor.
func (c *checkup) neighbors(ctx context.Context, link ws.Config) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	answers, err := ws.Probe(ctx, link)
	if err != nil {
		c.fail("neighbors", exitUsage, err)
		return
	}
	for _, a := range answers {
		item := fmt.Sprintf("neighbor %q", a.Name)
		switch {
		case a.Err == nil:
			c.ok(item, "has the same fleet, at %s, in %v", a.Where, a.Took.Round(100*time.Microsecond))
		case a.Refused:
			c.fail(item, exitMismatch, fmt.Errorf("%s: %w", a.Where, a.Err))
		case a.Where == "":
			c.warn(item, "cannot be asked: it has no address, and dials this node by itself")
		default:
			c.warn(item, "not reachable (yet): %s: %v", a.Where, a.Err)
		}
	}
	if len(answers) == 0 {
		c.ok("neighbors", "none")
	}
}
