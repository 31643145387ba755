package fleet

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spade-dfl/spade-edge/sdk/state"
)

// planned is a file to be written.
type planned struct {
	path    string // without links, so that a link stays one
	content []byte
	mode    fs.FileMode
}

// plan adds what a file is to be. A file that is that already is left out, and an existing one keeps its mode.
func (e *fleetEdit) plan(path string, content []byte, mode fs.FileMode) error {
	f := planned{path, content, mode}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		f.path = real
	}
	if slices.ContainsFunc(e.files, func(g planned) bool { return g.path == f.path }) {
		return nil
	}
	one := fileChange{File: path, New: true, Bytes: len(content)}
	if rel, err := filepath.Rel(e.dir, path); err == nil {
		one.File = filepath.ToSlash(rel)
	}
	old, err := os.ReadFile(path)
	if err == nil {
		info, err := os.Stat(path)
		if err != nil || bytes.Equal(old, content) {
			return err
		}
		one.New, f.mode = false, info.Mode().Perm()
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if filepath.Ext(path) == ".json" {
		one.Gone, one.Lines = LineChanges(old, content)
	}
	e.files, e.r.Files = append(e.files, f), append(e.r.Files, one)
	return nil
}

// write removes the secrets of a run that ends, of which nobody can make the noise of its edges any more, and then
// writes the files in order, each whole or not at all. The fleet file itself is the last one: until it is written,
// a repeat of the command starts from the same fleet, finds the files before it as it wants them, and writes the rest.
func (e *fleetEdit) write() error {
	for _, dir := range e.ended {
		if err := state.ForgetSecrets(dir, e.hash); err != nil {
			return err
		}
	}
	for _, f := range e.files {
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
			return fmt.Errorf("%w; the same command again completes the change", err)
		}
	}
	return nil
}

// SetField gives a field of the JSON object in text another value, and leaves all else as it is, to the byte. A field
// that is not there becomes the last one.
func SetField(text []byte, key, value string) ([]byte, error) {
	to, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	if _, err := dec.Token(); err != nil {
		return nil, err
	}
	last := 1 // where the last field ends
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

// LineChanges compares two texts as sets of lines, without the commas at their ends and lines of brackets alone: what is
// gone, and what is new. Each field, member and edge of a file that this program writes has a line.
func LineChanges(old, text []byte) (gone, new []string) {
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
