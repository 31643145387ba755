package fleet

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

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

// fieldChange is a field of a file that has another value, and its JSON. Members are called by their names.
type fieldChange struct {
	Field  string `json:"field"`
	Before string `json:"before"` // JSON; empty if it was not there
	After  string `json:"after"`  // JSON; empty if it is gone
}

func (f fieldChange) String() string {
	return fmt.Sprintf("%s: %s -> %s", f.Field, cmp.Or(f.Before, "none"), cmp.Or(f.After, "none"))
}

// FieldChanges compares two JSON files. What is no JSON has no fields.
func FieldChanges(old, text []byte) []fieldChange {
	before, after := map[string]string{}, map[string]string{}
	for text, into := range map[*[]byte]map[string]string{&old: before, &text: after} {
		var v any
		if json.Unmarshal(*text, &v) == nil {
			flatten("", v, into)
		}
	}
	all := maps.Clone(before)
	maps.Copy(all, after)
	changes := []fieldChange{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if before[name] != after[name] {
			changes = append(changes, fieldChange{name, before[name], after[name]})
		}
	}
	return changes
}

// flatten collects the values in v by their paths. An element of a list is called by its name, or else by itself: the
// order of members and edges says nothing.
func flatten(path string, v any, into map[string]string) {
	switch v := v.(type) {
	case map[string]any:
		for key, one := range v {
			if path != "" {
				key = path + "." + key
			}
			flatten(key, one, into)
		}
		return
	case []any:
		named := len(v) > 0
		for _, one := range v {
			_, list := one.([]any)
			object, ok := one.(map[string]any)
			_, has := object["name"].(string)
			named = named && (list || ok && has)
		}
		for _, one := range v {
			object, ok := one.(map[string]any)
			if name, has := object["name"].(string); named && ok && has {
				flatten(path+"."+name, one, into)
			} else if named {
				text, _ := json.Marshal(one) // it came from JSON
				into[path+string(text)] = "there"
			}
		}
		if named {
			return
		}
	}
	text, _ := json.Marshal(v) // it came from JSON
	into[path] = string(text)
}
