package fleet

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/pair"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/sdk/wire"
)

type nodeText struct {
	path string
	text []byte
	node *fleetfile.Node
}

func (n *nodeText) set(key, value string) (err error) {
	if n.text, err = SetField(n.text, key, value); err != nil {
		return err
	}
	n.node, err = fleetfile.ParseNode(n.text, filepath.Dir(n.path))
	return err
}

// fleetPath returns path or, if path is a folder, the path of the file with the given name in it. It fails if the file is
// of another kind.
func fleetPath(path, name string) (string, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, name)
	}
	return path, cli.Mistaken(name, path)
}

// open reads the fleet file at path and those node files of its members that are on this machine. If device is true,
// path is a node file, and open reads only this node file and its fleet file.
func (e *fleetEdit) open(path string, device bool) (err error) {
	if path, err = fleetPath(path, map[bool]string{false: "fleet.json", true: "node.json"}[device]); err != nil {
		return err
	}
	if e.dir, err = filepath.Abs(filepath.Dir(path)); err == nil {
		e.dir, err = filepath.EvalSymlinks(e.dir)
	}
	if err != nil {
		return cli.AsUsageError(err)
	}
	e.path = path
	if device {
		n, err := readNodeText(path)
		if err != nil {
			return err
		}
		e.nodes, e.path = []*nodeText{n}, n.node.Fleet
	}
	e.text, err = fleetfile.ReadFile(e.path, fleetfile.MaxFile, "a fleet file")
	if device && errors.Is(err, fs.ErrNotExist) {
		return nil // a new device has no fleet file yet
	}
	for _, file := range []**fleetfile.File{&e.old, &e.file} {
		if err == nil {
			*file, err = fleetfile.Parse(e.text, filepath.Dir(e.path))
			err = fleetfile.In(e.path, err)
		}
	}
	if err != nil {
		return cli.AsUsageError(err)
	}
	e.hash, e.ran = e.old.Fleet.Hash(), e.old.Fleet.Run
	if device {
		return nil
	}
	var f cli.Faults
	for _, m := range e.file.Members {
		f = append(f, e.openNode(m.Name))
	}
	return f.Usage()
}

// openNode reads a member's node file if the member's folder has one.
func (e *fleetEdit) openNode(name string) error {
	if !filepath.IsLocal(name) {
		return nil
	}
	n, err := readNodeText(filepath.Join(e.dir, name, "node.json"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case n.node.Name != name:
		return fmt.Errorf("%s is the node file of %q, but its folder is named %q", n.path, n.node.Name, name)
	}
	e.nodes = append(e.nodes, n)
	return nil
}

// mostFile is the maximum size, in bytes, of a file that this command replaces: a file with an initial model.
const mostFile = 4*wire.MaxDim + fleetfile.MaxFile

func readNodeText(path string) (*nodeText, error) {
	text, err := fleetfile.ReadFile(path, fleetfile.MaxFile, "a node file")
	if err != nil {
		return nil, err
	}
	node, err := fleetfile.ParseNode(text, filepath.Dir(path))
	return &nodeText{path: path, text: text, node: node}, fleetfile.In(path, err)
}

// node returns a member's node file, or nil if the file is not on this machine.
func (e *fleetEdit) node(name string) *nodeText {
	for _, n := range e.nodes {
		if n.node.Name == name {
			return n
		}
	}
	return nil
}

// settle prepares a change of the fleet's hash, which must not change during a run: it gives the next run the ID given
// with -run.
func (e *fleetEdit) settle() error {
	if e.run == "" {
		return cli.Usage("-run is missing, want the id of the next run: %w", errSettled)
	}
	e.file.Fleet.Run = e.run
	for _, n := range e.nodes {
		if err := e.leave(n); err != nil {
			return err
		}
	}
	return nil
}

// leave prepares a node for the changed fleet. If the ID of its run is new, the node gets a new state folder; otherwise
// the node must not have made a release in this run.
func (e *fleetEdit) leave(n *nodeText) error {
	begun, err := e.begun(n)
	switch {
	case err != nil || e.ran == "": // a new device has no run
		return err
	case e.file.Fleet.Run != e.ran:
		return e.moveState(n)
	case begun:
		return cli.Usage("run %q has already begun: node %q has made a release in it; %w", e.ran, n.node.Name, errSettled)
	}
	return nil
}

// begun reports whether the node made a release in the old run. It fails if the node is running or, unless -end is
// given, has not completed this run.
func (e *fleetEdit) begun(n *nodeText) (bool, error) {
	used, err := state.InUse(n.node.State)
	if err != nil {
		return false, err
	}
	if used {
		return false, fmt.Errorf("node %q is running; stop it first with \"spade-edge stop %s\": %w", n.node.Name, n.path, errSettled)
	}
	kept, err := state.ReadSnapshot(n.node.State)
	if errors.Is(err, fs.ErrNotExist) || err == nil && kept.Fleet != e.hash {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if last := e.old.Fleet.Method.Last(); kept.State.Round < last && !e.end {
		return true, fmt.Errorf("node %q is at release %d of %d in run %q; wait until the run ends, or give -end to "+
			"leave the rest of its privacy budget unspent: %w", n.node.Name, kept.State.Round, last, e.ran, errSettled)
	}
	return true, nil
}

// moveState gives a node a new state folder, unless its current folder is empty. It keeps the current folder.
func (e *fleetEdit) moveState(n *nodeText) error {
	if entries, err := os.ReadDir(n.node.State); len(entries) == 0 && (err == nil || errors.Is(err, fs.ErrNotExist)) {
		return nil
	}
	e.ended = append(e.ended, n.node)
	var form struct{ State string } // as it is in the file: node.State is joined to the folder
	if err := json.Unmarshal(n.text, &form); err != nil {
		return err
	}
	old := strings.TrimSuffix(strings.TrimRight(form.State, `/\`), "-"+slug(e.ran))
	if err := n.set("state", old+"-"+slug(e.file.Fleet.Run)); err != nil {
		return err
	}
	if entries, err := os.ReadDir(n.node.State); len(entries) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return cli.AsUsageError(errors.Join(fmt.Errorf("state folder %s is not empty: give the run a new id with -run", n.node.State), err))
	}
	return nil
}

var notSlug = regexp.MustCompile(`[^0-9A-Za-z._]`)

// slug returns a run's id as a part of file names.
func slug(run string) string { return notSlug.ReplaceAllString(run, "-") }

// plan schedules a file for writing unless its content is unchanged. An existing file keeps its mode.
func (e *fleetEdit) plan(path string, content []byte, mode fs.FileMode) error {
	one := fileChange{File: path, New: true, Bytes: len(content), path: path, content: content, mode: mode}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		one.path = real
	}
	if slices.ContainsFunc(e.r.Files, func(other fileChange) bool { return other.path == one.path }) {
		return nil
	}
	if rel, err := filepath.Rel(e.dir, path); err == nil {
		one.File = filepath.ToSlash(rel)
	}
	old, err := fleetfile.ReadFile(path, mostFile, "a file of the fleet")
	if err == nil {
		info, err := os.Stat(path)
		if err != nil || bytes.Equal(old, content) {
			return err
		}
		one.New, one.mode = false, info.Mode().Perm()
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if filepath.Ext(path) == ".json" {
		one.Gone, one.Lines = lineChanges(old, content)
	}
	e.r.Files = append(e.r.Files, one)
	return nil
}

// forget deletes the private halves of the one-time keys of a run that ends, as far as they are on this machine.
func (e *fleetEdit) forget() error {
	if e.old == nil || e.old.Fleet.PairKeys == nil {
		return nil
	}
	for _, n := range e.ended {
		i := slices.Index(e.old.Fleet.Members, n.Name)
		if i < 0 { // a member that returns
			continue
		}
		public := e.old.Fleet.PairKeys[i]
		if err := state.PairKeys(n.PairKeys).Delete(public, e.hash); err != nil && !errors.Is(err, pair.ErrMissing) {
			return err
		}
	}
	return nil
}

// write ends the old run for good on this machine, then durably writes the files in order. The fleet file is written
// last: until then, repeating the command completes the change.
func (e *fleetEdit) write() error {
	if err := e.forget(); err != nil {
		return err
	}
	for _, f := range e.r.Files {
		if step := e.Program.FleetStep; step != nil {
			if err := step(); err != nil {
				return err
			}
		}
		err := os.MkdirAll(filepath.Dir(f.path), 0o700)
		if err == nil {
			err = state.Replace(f.path, f.content, f.mode)
		}
		if err != nil {
			return fmt.Errorf("%w; run the same command again to complete the change", err)
		}
	}
	return nil
}

// SetField sets a string field of the JSON object in text, or appends a missing field. It keeps all other bytes.
func SetField(text []byte, key, value string) ([]byte, error) {
	to, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	if _, err := dec.Token(); err != nil {
		return nil, err
	}
	last := 1 // end of the last field
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, err
		}
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return nil, err
		}
		if last = int(dec.InputOffset()); name == key {
			return slices.Concat(text[:last-len(raw)], to, text[last:]), nil
		}
	}
	return slices.Concat(text[:last], fmt.Appendf(nil, ",\n  %q: ", key), to, text[last:]), nil
}

// lineChanges returns the lines that only the old text has (gone) and the lines that only the new text has (new). It
// removes trailing commas, and ignores lines that consist of brackets.
func lineChanges(old, text []byte) (gone, new []string) {
	lines := func(text []byte) (all []string) {
		for line := range strings.Lines(string(text)) {
			if line = strings.TrimSuffix(strings.TrimSpace(line), ","); strings.Trim(line, "{}[]") != "" {
				all = append(all, line)
			}
		}
		return all
	}
	without := func(all, those []string) []string {
		return slices.DeleteFunc(slices.Clone(all), func(line string) bool { return slices.Contains(those, line) })
	}
	before, after := lines(old), lines(text)
	return without(before, after), without(after, before)
}
