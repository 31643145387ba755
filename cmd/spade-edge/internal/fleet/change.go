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

// change is a list of files to write, in order. The fleet file itself is the last one: until it is written, a repeat of
// the command starts from the same fleet, finds the files before it as it wants them, and writes the rest.
type change struct {
	files []changed

	step func() error // for tests: an error ends the work at that place, as a crash would
}

// changed is a file of a change.
type changed struct {
	path     string // as it is opened
	real     string // without links, so that a link stays one
	old, new []byte // old is nil if there is no file
	mode     fs.FileMode
}

// set adds what a file is to be. A file that is that already is left out, and an existing one keeps its mode.
func (c *change) set(path string, content []byte, mode fs.FileMode) error {
	f := changed{path: path, real: path, new: content, mode: mode}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		f.real = real
	}
	old, err := os.ReadFile(path)
	switch info, errInfo := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
	case errors.Join(err, errInfo) != nil:
		return errors.Join(err, errInfo)
	case bytes.Equal(old, content):
		return nil
	default:
		f.old, f.mode = append([]byte{}, old...), info.Mode().Perm()
	}
	if !slices.ContainsFunc(c.files, func(g changed) bool { return g.real == f.real }) {
		c.files = append(c.files, f)
	}
	return nil
}

// commit writes the files in order, each whole or not at all.
func (c *change) commit() error {
	for _, f := range c.files {
		if c.step != nil {
			if err := c.step(); err != nil {
				return err
			}
		}
		err := os.MkdirAll(filepath.Dir(f.real), 0o700)
		if err == nil {
			err = state.Replace(f.real, f.new, f.mode)
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

// LineChanges compares two texts as sets of lines, without the commas at their ends: what is gone, and what is new. Each
// field, member and edge of a file that this program writes has a line.
func LineChanges(old, text []byte) (gone, new []string) {
	lines := func(text []byte) (all []string) {
		for line := range strings.Lines(string(text)) {
			all = append(all, strings.TrimSuffix(strings.TrimSpace(line), ","))
		}
		return all
	}
	without := func(all, those []string) []string {
		return slices.DeleteFunc(slices.Clone(all), func(line string) bool { return slices.Contains(those, line) })
	}
	before, after := lines(old), lines(text)
	return without(before, after), without(after, before)
}
