package program

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/state"
)

type fleetAction struct {
	name  string
	flags []string
	run   func(e *fleetEdit) error
}

// fleetActions are what the command fleet does, each with the flags that go with it besides -dry-run and -json.
var fleetActions = []fleetAction{
	{"add", []string{"line", "name", "key", "address", "edges", "cut", "run", "end", "as", "data", "stream"}, (*fleetEdit).add},
	{"remove", []string{"name", "edges", "run", "end"}, (*fleetEdit).remove},
	{"rotate", []string{"line", "name", "key", "file", "at-once", "retire", "forget"}, (*fleetEdit).rotate},
	{"move", []string{"name", "address"}, (*fleetEdit).move},
	{"next", []string{"from", "run", "rounds", "epsilon", "end"}, (*fleetEdit).next},
	{"take", []string{"new", "file", "end"}, (*fleetEdit).take},
}

// fleetEdit is a change of the files of a fleet.
type fleetEdit struct {
	*cmdline
	line, name, key, address, edges, cut, run, as, data string
	stream                                              commandFlag
	newKey, from, newFleet                              string
	atOnce, retire, forget, end, dryRun                 bool
	rounds                                              int
	epsilon                                             float64

	dir, path string          // of the fleet file
	file      *fleetfile.File // as it is to be
	text      []byte          // as it was
	hash      [32]byte        // as it was
	ran       string          // the run as it was
	nodes     []*nodeText
	writes    *change

	r fleetResult
}

// fleetResult is what has changed, and its JSON.
type fleetResult struct {
	Action  string       `json:"action"`
	Fleet   string       `json:"fleet"` // the file
	Run     string       `json:"run"`
	Hash    string       `json:"fleet_hash"`
	SameRun bool         `json:"same_run"` // the hash is what it was: a run that has begun takes the change over
	DryRun  bool         `json:"dry_run"`
	Before  string       `json:"recovered,omitempty"` // what became of an earlier change that was interrupted
	Files   []fileChange `json:"files"`
	Epsilon *float64     `json:"epsilon"` // of the run, null if it is not private
	Left    []ledgerLeft `json:"ledgers"` // of the members whose ledgers are here
	Notes   []string     `json:"notes"`   // what is left to do
}

type fileChange struct {
	File    string   `json:"file"`
	New     bool     `json:"new"`
	Bytes   int      `json:"bytes"`
	Removed []string `json:"removed"` // lines; none of a start vector
	Added   []string `json:"added"`
}

// nodeText is a node file that is edited.
type nodeText struct {
	path string
	old  []byte
	text []byte
	node *fleetfile.Node
}

func (n *nodeText) set(key, value string) (err error) {
	if n.text, err = setField(n.text, key, value); err != nil {
		return err
	}
	n.node, err = fleetfile.ParseNode(n.text, filepath.Dir(n.path))
	return err
}

// field returns a string that stands in the file.
func (n *nodeText) field(key string) string {
	var all map[string]any
	if err := json.Unmarshal(n.text, &all); err != nil {
		return "" // it was read before
	}
	s, _ := all[key].(string)
	return s
}

// errSettled says what may change in the middle of a run.
var errSettled = errors.New("members, edges and settings are part of the fleet's hash: a run keeps those that it has begun " +
	"with, and in the middle of one only keys and addresses may change")

func fleetFiles(_ context.Context, c *cmdline) error {
	e := &fleetEdit{cmdline: c}
	e.register()
	i := -1
	if len(c.args) > 0 {
		i = slices.IndexFunc(fleetActions, func(a fleetAction) bool { return a.name == c.args[0] })
	}
	if i < 0 {
		if err := c.parse(); errors.Is(err, flag.ErrHelp) {
			return err
		}
		return usageError{errors.New("want first what to do: add, remove, rotate, move, next or take")}
	}
	action := fleetActions[i]
	c.args = c.args[1:]
	path, err := c.parseFile()
	if err != nil {
		return err
	}
	var f faults
	c.Visit(func(given *flag.Flag) {
		ok := slices.Contains(append(action.flags, "dry-run", "json"), given.Name)
		f.when(!ok, "-%s does not go with fleet %s", given.Name, action.name)
	})
	f.empty(c.given, "line", e.line, "name", e.name, "key", e.key, "run", e.run, "as", e.as, "data", e.data,
		"stream", e.stream.String(), "file", e.newKey, "from", e.from, "new", e.newFleet)
	if err := f.usage(); err != nil {
		return err
	}
	e.r = fleetResult{Action: action.name, DryRun: e.dryRun, Files: []fileChange{}, Left: []ledgerLeft{}, Notes: []string{}}
	if err := e.open(path, action.name == "take"); err != nil {
		return err
	}
	if err := action.run(e); err != nil {
		return err
	}
	if err := e.finish(); err != nil {
		return err
	}
	return c.print(e.r, e.write)
}

func (e *fleetEdit) register() {
	c := e.cmdline
	c.StringVar(&e.line, "line", "", "add, rotate: the `file` with the line that keygen has printed on the device")
	c.StringVar(&e.name, "name", "", "the member")
	c.StringVar(&e.key, "key", "", "add, rotate: the public `key`, ed25519:..., in place of -line")
	c.StringVar(&e.address, "address", "", "add, move: where neighbors reach it, host:port or wss://host:port/path, several "+
		"separated by commas; none if it only dials out")
	c.StringVar(&e.edges, "edges", "", "add: the neighbors, separated by commas; add, remove: further edges `a:b`")
	c.StringVar(&e.cut, "cut", "", "add: edges `a:b` that are no more")
	c.StringVar(&e.run, "run", "", "add, remove, next: `id` of the next run")
	c.StringVar(&e.as, "as", "", "add: it learns from what this `member` learns from (default a gap to be filled in)")
	c.StringVar(&e.data, "data", "", "add: the `source` of its own samples, prepared as the task in the fleet file says")
	c.Var(&e.stream, "stream", "add: the `program`, with its arguments, that answers its queries")
	c.StringVar(&e.newKey, "file", "", "rotate, take: the new secret key's `file`, as the node file is to name it")
	c.BoolVar(&e.atOnce, "at-once", false, "rotate: the old key may not connect any more, as of a device that is lost")
	c.BoolVar(&e.retire, "retire", false, "rotate: the older of the two keys may not connect any more")
	c.BoolVar(&e.forget, "forget", false, "rotate: make room for another retired key; what the oldest one has signed "+
		"counts no more")
	c.StringVar(&e.from, "from", "", "next: the `file` with the model to start from, .npy, .json or .raw, as export writes "+
		"it, or the state folder of a node that has it")
	c.IntVar(&e.rounds, "rounds", 0, "next: rounds of learning, K (default as before)")
	c.Float64Var(&e.epsilon, "epsilon", 0, "next: privacy budget of each member for the run (default as before, or what is "+
		"left of the ledgers here)")
	c.BoolVar(&e.end, "end", false, "end a run that is not over: what it has not released stays unspent")
	c.StringVar(&e.newFleet, "new", "", "take: the new fleet `file`")
	c.BoolVar(&e.dryRun, "dry-run", false, "show the difference, and write nothing")
	c.jsonFlag("")
}

// open finishes a change that was interrupted, and reads the fleet file, or with device the node file, and the node
// files of the members that are there.
func (e *fleetEdit) open(path string, device bool) (err error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, map[bool]string{false: "fleet.json", true: "node.json"}[device])
	}
	if e.dir, err = filepath.Abs(filepath.Dir(path)); err != nil {
		return err
	}
	if e.dir, err = filepath.EvalSymlinks(e.dir); err != nil {
		return usageError{err}
	}
	e.writes = &change{dir: e.dir}
	if _, err := os.Stat(filepath.Join(e.dir, journal)); err == nil && e.dryRun {
		return fmt.Errorf("a change of %s was interrupted: the next call without -dry-run finishes it first", e.dir)
	}
	if e.r.Before, err = finishChange(e.dir, e.writes.pause); err != nil {
		return err
	}
	if e.r.Before != "" {
		fmt.Fprintf(e.log, "%s\n", e.r.Before)
	}
	e.path = path
	if device {
		n, err := readNodeText(path)
		if err != nil {
			return err
		}
		e.nodes, e.path = []*nodeText{n}, n.node.Fleet
	}
	if e.text, err = os.ReadFile(e.path); device && errors.Is(err, fs.ErrNotExist) {
		return nil // a new device
	} else if err != nil {
		return usageError{err}
	}
	if e.file, err = fleetfile.Read(e.path); err != nil {
		return usageError{err}
	}
	e.hash, e.ran = e.file.Fleet.Hash(), e.file.Fleet.Run
	if device {
		return nil
	}
	var f faults
	for _, m := range e.file.Members {
		f = append(f, e.openNode(m.Name))
	}
	return f.usage()
}

// openNode reads a member's node file, if it is in the folder of its name, or beside the fleet file.
func (e *fleetEdit) openNode(name string) error {
	for _, path := range []string{filepath.Join(name, "node.json"), "node.json"} {
		if !filepath.IsLocal(path) {
			continue
		}
		n, err := readNodeText(filepath.Join(e.dir, path))
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return err
		case n.node.Name == name:
			e.nodes = append(e.nodes, n)
			return nil
		case path != "node.json":
			return fmt.Errorf("%s is of %q, want %q, as its folder is called", n.path, n.node.Name, name)
		}
	}
	return nil
}

func readNodeText(path string) (*nodeText, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	node, err := fleetfile.ReadNode(path)
	return &nodeText{path: path, old: text, text: text, node: node}, err
}

// node returns the node file of a member, nil if it is not here.
func (e *fleetEdit) node(name string) *nodeText {
	for _, n := range e.nodes {
		if n.node.Name == name {
			return n
		}
	}
	return nil
}

// settle refuses a change of more than keys and addresses while a run is at work, and gives the run its id and every
// node that is here a state folder of its own.
func (e *fleetEdit) settle() error {
	if e.run == "" {
		return usageError{fmt.Errorf("-run is missing: the id of the next run. %w", errSettled)}
	}
	f := e.file.Fleet
	for _, n := range e.nodes {
		begun, err := e.begun(n)
		if err != nil {
			return err
		}
		if begun && e.run == e.ran {
			return usageError{fmt.Errorf("-run %q has begun: %q has released something in it. %w", e.run, n.node.Name, errSettled)}
		}
	}
	if f.Run = e.run; f.Run == e.ran {
		return nil
	}
	for _, n := range e.nodes {
		if err := e.moveState(n); err != nil {
			return err
		}
	}
	return nil
}

// begun reports whether a node has released something in the run as it was. It fails if the node is running, or in the
// middle of its run without -end.
func (e *fleetEdit) begun(n *nodeText) (bool, error) {
	used, err := state.InUse(n.node.State)
	if err != nil {
		return false, err
	}
	if used {
		return false, fmt.Errorf("%q is running: stop it first (spade-edge stop %s). %w", n.node.Name, n.path, errSettled)
	}
	kept, err := state.ReadSnapshot(n.node.State)
	if errors.Is(err, fs.ErrNotExist) || err == nil && kept.Fleet != e.hash {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if last := e.before().Fleet.Method.Last(); kept.Round < last && !e.end {
		return true, fmt.Errorf("%q is at release %d of %d of run %q: let it end, or give -end, and what is not released stays "+
			"unspent. %w", n.node.Name, kept.Round, last, e.ran, errSettled)
	}
	return true, nil
}

// before returns the fleet as it was. The file was read before.
func (e *fleetEdit) before() *fleetfile.File {
	file, err := fleetfile.Parse(e.text, filepath.Dir(e.path))
	if err != nil {
		return e.file
	}
	return file
}

// moveState gives a node another state folder, so that the old run's stays as it is.
func (e *fleetEdit) moveState(n *nodeText) error {
	old := strings.TrimRight(n.field("state"), `/\`)
	old = strings.TrimSuffix(old, "-"+slug(e.ran))
	if err := n.set("state", old+"-"+slug(e.file.Fleet.Run)); err != nil {
		return err
	}
	if entries, err := os.ReadDir(n.node.State); len(entries) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return usageError{errors.Join(fmt.Errorf("%s has something in it: give the run an id that was never used",
			n.node.State), err)}
	}
	return nil
}

// slug makes a run's id the part of a file's name.
func slug(run string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '.' || r == '_' {
			return r
		}
		return '-'
	}, run)
}

// finish collects what changes, and writes it.
func (e *fleetEdit) finish() error {
	f := e.file.Fleet
	text, err := e.file.Marshal()
	if err != nil {
		return usageError{err}
	}
	hash := f.Hash()
	e.r.Fleet, e.r.Run, e.r.Hash, e.r.SameRun = e.path, f.Run, hex.EncodeToString(hash[:]), hash == e.hash
	if p := f.Privacy; !p.NonPrivate {
		epsilon := p.Accounting.Epsilon(f.Total(f.Method.Rounds).Rho, p.Delta)
		if e.r.Epsilon = &epsilon; p.EpsilonLimit > 0 && epsilon > p.EpsilonLimit {
			e.note("the run costs epsilon %s now, and its limit is %v: fleet next -run %s -epsilon %v chooses noise that fits",
				epsilonText(epsilon), p.EpsilonLimit, f.Run, p.EpsilonLimit)
		}
	}
	if err := e.setFleet(e.path, text); err != nil {
		return err
	}
	for _, n := range e.nodes {
		if key, err := fleetfile.ReadKey(n.node.Key); err == nil { // or it is on the device alone
			if err := n.node.CheckIdentity(e.file, key); err != nil {
				return usageError{fmt.Errorf("%s: %w", n.path, err)}
			}
		}
		if own := n.node.Fleet; !same(own, e.path) { // a device's copy
			if there, err := os.ReadFile(own); err == nil && string(there) == string(e.text) {
				if err := e.setFleet(own, text); err != nil {
					return err
				}
			} else if !errors.Is(err, fs.ErrNotExist) {
				e.note("%s is another fleet than %s was: take it over there", own, e.path)
			}
		}
		if err := e.writes.set(n.path, n.text, 0o600); err != nil {
			return err
		}
	}
	for _, w := range e.writes.files {
		one := fileChange{File: filepath.ToSlash(w.Path), New: w.Old == "", Bytes: len(w.New)}
		if filepath.Ext(w.Path) == ".json" {
			one.Removed, one.Added = difference(w.old, w.New)
		}
		e.r.Files = append(e.r.Files, one)
	}
	if e.dryRun {
		return nil
	}
	return e.writes.commit()
}

// setFleet writes the fleet file somewhere, with the start vector beside it.
func (e *fleetEdit) setFleet(path string, text []byte) error {
	if e.file.X0File != "" {
		x0 := filepath.Join(filepath.Dir(path), filepath.FromSlash(e.file.X0File))
		if err := e.writes.set(x0, appendFloats(nil, e.file.Fleet.X0), 0o644); err != nil {
			return err
		}
	}
	return e.writes.set(path, text, 0o644)
}

// same reports whether two paths are of one file.
func same(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

func (e *fleetEdit) note(format string, args ...any) {
	e.r.Notes = append(e.r.Notes, fmt.Sprintf(format, args...))
}

// reload notes who has to be told of new keys or addresses of a member.
func (e *fleetEdit) reload(name string) {
	var all []string
	for _, p := range e.file.Peers(name) {
		all = append(all, p.Name)
	}
	e.note("the hash is what it was, so a run goes on meanwhile: bring %s to %s, and to the neighbors (%s); those at work read "+
		"it again with kill -HUP or systemctl reload", filepath.Base(e.path), name, cmp.Or(strings.Join(all, ", "), "none"))
}

func (e *fleetEdit) write(t table) {
	r := &e.r
	for _, f := range r.Files {
		word := "changed"
		if f.New {
			word = "new"
		}
		t.row(word, "%s, %s", f.File, bytesText(int64(f.Bytes)))
		for _, line := range f.Removed {
			fmt.Fprintf(t, "  - %s\n", line)
		}
		for _, line := range f.Added {
			fmt.Fprintf(t, "  + %s\n", line)
		}
	}
	if len(r.Files) == 0 {
		t.row("changed", "nothing: the files are so already")
	}
	t.row("fleet", "run %q, %d members, hash %s", r.Run, len(e.file.Members), r.Hash[:16])
	for _, l := range r.Left {
		t.row("ledger", "%q: %s", l.Name, l.text)
	}
	if r.Epsilon != nil {
		t.row("epsilon", "%s at delta %v of each member's data set, for the whole run", epsilonText(*r.Epsilon),
			e.file.Fleet.Privacy.Delta)
	}
	for _, n := range r.Notes {
		t.row("next", "%s", n)
	}
	if r.DryRun {
		t.row("dry run", "nothing is written")
	}
}
