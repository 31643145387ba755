package fleet

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/setup"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/secret"
)

// verbs has the actions of the fleet command. Each adds its flags and returns what it does once they are parsed.
var verbs = map[string]func(e *fleetEdit) (change func() error){
	"add": add, "remove": remove, "next": next, "take": take,
}

// fleetEdit is one change to the files of a fleet: what was there before, and what changes.
type fleetEdit struct {
	*cli.Cmdline
	run string // id of the next run; empty if the run stays
	end bool   // the flag

	dir, path string            // of the fleet file
	text      []byte            // of the fleet file before the change
	old       *fleetfile.File   // before the change; nil on a new device
	hash      [32]byte          // of old
	ran       string            // run id of old
	ended     []*fleetfile.Node // of the nodes that leave the run before the change

	file  *fleetfile.File // after the change
	nodes []*nodeText     // the node files on this machine, after the change
	r     FleetResult
}

// FleetResult describes a change to a fleet, printed as text or, with -json, as JSON.
type FleetResult struct {
	Action string       `json:"action"`
	Fleet  string       `json:"fleet"`
	Run    string       `json:"run"`
	Hash   string       `json:"fleet_hash"`
	SHA256 string       `json:"fleet_sha256"` // of the file, keys and addresses included
	DryRun bool         `json:"dry_run"`
	Files  []fileChange `json:"files"`
	// Privacy is the cost of the whole run; null if it is not private.
	Privacy *setup.Privacy `json:"privacy"`

	Notes []string `json:"notes"` // what the user must still do
}

type fileChange struct {
	File  string   `json:"file"`
	New   bool     `json:"new"`
	Bytes int      `json:"bytes"`
	Gone  []string `json:"gone_lines,omitempty"` // of a file other than a start vector
	Lines []string `json:"new_lines,omitempty"`

	path    string // with symbolic links resolved, so that writing does not replace a link
	content []byte
	mode    fs.FileMode
}

var errSettled = errors.New("members, edges and settings are part of the fleet's hash and are fixed during a run; " +
	"only keys and addresses may change")

// Edit is the command that changes the files of a fleet.
func Edit(_ context.Context, c *cli.Cmdline) error {
	verb := ""
	if len(c.Argv) > 0 && !strings.HasPrefix(c.Argv[0], "-") {
		verb, c.Argv = c.Argv[0], c.Argv[1:]
	}
	e := &fleetEdit{Cmdline: c, r: FleetResult{Action: verb, Files: []fileChange{}, Notes: []string{}}}
	action := verbs[verb]
	if action == nil && verb != "show" {
		if err := c.ParseArgs(); errors.Is(err, flag.ErrHelp) {
			return err
		}
		return cli.Usage("the action is %q, want add, remove, next, take or show", verb)
	}
	c.JSONFlag()
	if verb == "show" {
		return show(c)
	}
	c.BoolVar(&e.r.DryRun, "dry-run", false, "show what would change, and write nothing")
	c.BoolVar(&e.end, "end", false, "end a run that is not over: its remaining budget stays unspent")
	change := action(e)
	path, err := c.ParseFile()
	if err != nil {
		return fmt.Errorf("%s: %w", verb, err)
	}
	err = e.open(path, verb == "take")
	if err == nil {
		err = change()
	}
	if err == nil {
		err = e.finish()
	}
	if err != nil {
		return err
	}
	return c.Print(e.r, e.print)
}

// runFlag adds the flag for the next run's id.
func (e *fleetEdit) runFlag() { e.StringVar(&e.run, "run", "", "`id` of the next run") }

// finish describes the change, and writes all files of it that are on this machine.
func (e *fleetEdit) finish() error {
	if e.file.Fleet.Hash() != e.hash && e.r.Action != "take" {
		last, err := takePairKeys(e.file)
		if err != nil {
			return err
		}
		if last != nil {
			e.note("%s", runOut(last))
		}
	}
	text, err := e.file.Marshal()
	if err != nil {
		return cli.AsUsageError(err)
	}
	e.describe(text)
	here, _ := os.Stat(e.path) // fails on a new device
	for _, n := range e.nodes {
		if err := e.planNode(n, here, text); err != nil {
			return err
		}
	}
	if err := e.setFleet(e.path, text); err != nil { // last, because the new fleet file puts the other changes into effect
		return err
	}
	if e.r.DryRun {
		return nil
	}
	return e.write()
}

// describe fills in the result of a change to the fleet file with the given text, and notes what every device needs.
func (e *fleetEdit) describe(text []byte) {
	f := e.file.Fleet
	e.r.Fleet, e.r.Run, e.r.Hash = e.path, f.Run, fmt.Sprintf("%x", f.Hash())
	e.r.SHA256 = fmt.Sprintf("%x", sha256.Sum256(text))
	if e.run != "" { // every device needs the files of the next run
		name, start := filepath.Base(e.path), ""
		if e.file.X0File != "" {
			start = " and " + e.file.X0File
		}
		e.note("copy %s%s to a new folder on every device, old or new, and run there: spade-edge fleet take node.json -new FOLDER/%s",
			name, start, name)
	}
	if p, total := f.Privacy, f.Total(f.Method.Rounds); !p.NonPrivate {
		e.r.Privacy = setup.NewPrivacy(total, f, nil)
		if epsilon := p.Accounting.Epsilon(total.Rho, p.Delta); p.EpsilonLimit > 0 && epsilon > p.EpsilonLimit {
			e.note("the run costs epsilon %s now, and its limit is %v: fleet next -run %s -epsilon %v chooses noise that fits",
				cli.EpsilonText(epsilon), p.EpsilonLimit, f.Run, p.EpsilonLimit)
		}
	}
}

// planNode schedules a node file and, if the device has a copy of the fleet file of its own, that copy. here is the fleet
// file that changes, or nil on a new device.
func (e *fleetEdit) planNode(n *nodeText, here fs.FileInfo, text []byte) error {
	if key, err := secret.ReadKey(n.node.Key); err == nil { // otherwise the key is only on the device
		if err := n.node.CheckIdentity(e.file, key); err != nil {
			return cli.Usage("%s: %w", n.path, err)
		}
	}
	own := n.node.Fleet
	if info, _ := os.Stat(own); !os.SameFile(info, here) {
		there, err := fleetfile.ReadFile(own, fleetfile.MaxFile, "a fleet file")
		if err == nil && (bytes.Equal(there, e.text) || bytes.Equal(there, text)) {
			if err := e.setFleet(own, text); err != nil {
				return err
			}
		} else if !errors.Is(err, fs.ErrNotExist) {
			e.note("%s differs from what %s was: run fleet take there", own, e.path)
		}
	}
	return e.plan(n.path, n.text, 0o600)
}

// setFleet schedules the fleet file at path for writing and, next to it, the file of the initial model, if any, and the
// fleet file of the run that ends.
func (e *fleetEdit) setFleet(path string, text []byte) error {
	if e.old != nil && e.file.Fleet.Run != e.ran {
		if err := e.keep(filepath.Dir(path)); err != nil {
			return err
		}
	}
	if e.file.X0File != "" {
		x0 := filepath.Join(filepath.Dir(path), filepath.FromSlash(e.file.X0File))
		if err := e.plan(x0, cli.AppendFloats(nil, e.file.Fleet.X0), 0o644); err != nil {
			return err
		}
	}
	return e.plan(path, text, 0o644)
}

// keep schedules the fleet file of the run that ends for writing into dir as fleet-RUN.json: it verifies the certificates of
// that run. If a file with this name has other content, the name also has the beginning of the content's SHA-256.
func (e *fleetEdit) keep(dir string) error {
	name := filepath.Join(dir, "fleet-"+slug(e.ran))
	sum := sha256.Sum256(e.text)
	for _, path := range []string{name + ".json", fmt.Sprintf("%s-%x.json", name, sum[:4])} {
		there, err := fleetfile.ReadFile(path, fleetfile.MaxFile, "a fleet file")
		planned := slices.ContainsFunc(e.r.Files, func(f fileChange) bool { return f.path == path })
		if planned || err == nil && bytes.Equal(there, e.text) {
			return nil
		}
		if errors.Is(err, fs.ErrNotExist) {
			e.note("%s keeps the fleet file of run %q: the certificates of that run are verified against it", path, e.ran)
			e.r.Files = append(e.r.Files, fileChange{File: path, New: true, Bytes: len(e.text), path: path, content: e.text, mode: 0o644})
			return nil
		}
	}
	return fmt.Errorf("%s.json, which would keep the fleet file of run %q, has other content: move it elsewhere", name, e.ran)
}

func (e *fleetEdit) note(format string, args ...any) {
	e.r.Notes = append(e.r.Notes, fmt.Sprintf(format, args...))
}

// reload adds a note with the members that need the fleet file with the new keys or addresses of the named member.
func (e *fleetEdit) reload(name string) {
	var all []string
	for _, p := range e.file.Peers(name) {
		all = append(all, p.Name)
	}
	e.note("the hash is unchanged, so a run can continue: copy %s to %s and to its neighbors (%s); running nodes read it again after "+
		"kill -HUP or systemctl reload", filepath.Base(e.path), name, cmp.Or(strings.Join(all, ", "), "none"))
}

// brief returns the beginning of a line of a file: the line of a member with many one-time keys is long.
func brief(line string) string {
	const most = 240
	if line = cli.OneLine(line); len(line) > most {
		line = strings.ToValidUTF8(line[:most], "") + "..."
	}
	return line
}

func (e *fleetEdit) print(t cli.Table) {
	r := &e.r
	for _, f := range r.Files {
		word := "changed"
		if f.New {
			word = "new"
		}
		t.Row(word, "%s, %s", f.File, cli.BytesText(int64(f.Bytes)))
		for _, line := range f.Gone {
			fmt.Fprintf(t, "  - %s\n", brief(line))
		}
		for _, line := range f.Lines {
			fmt.Fprintf(t, "  + %s\n", brief(line))
		}
	}
	if len(r.Files) == 0 {
		t.Row("changed", "nothing: the files already say this")
	}
	t.Row("fleet", "run %q, %d members, hash %s", r.Run, len(e.file.Members), r.Hash)
	t.Row("fleet file", "SHA-256 %s", r.SHA256)
	if f := e.file.Fleet; r.Privacy != nil {
		p := f.Privacy
		t.Row("privacy", "%s, at delta %v, for the whole run", cli.CostText(f.Total(f.Method.Rounds), p.Delta, p.Accounting, p.Protects()), p.Delta)
	}
	for _, n := range r.Notes {
		t.Row("next", "%s", n)
	}
	if r.DryRun {
		t.Row("dry run", "nothing is written")
	}
}
