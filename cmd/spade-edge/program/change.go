package program

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spade-dfl/spade-edge/sdk/state"
)

// journal is the folder in which a change stands while its files are written. Only whole ones have that name.
const journal = ".spade-edge-change"

// change is a set of files that are written all or not at all.
type change struct {
	dir   string // where the journal is
	files []changed

	step func() error // for tests: an error ends the work at that place, as a crash would
}

// changed is a file of a change, and its JSON in a journal.
type changed struct {
	Path string      `json:"path"` // as it can be opened from the change's folder
	Old  string      `json:"old"`  // SHA-256 of what is there; empty if there is nothing
	New  []byte      `json:"new"`
	Mode fs.FileMode `json:"mode"` // of a new file; another keeps its own

	old []byte
}

// set adds what a file is to be. A file that is that already is left out.
func (c *change) set(path string, content []byte, mode fs.FileMode) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	if real, err := filepath.EvalSymlinks(path); err == nil { // a link stays one
		path = real
	} else if folder, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		path = filepath.Join(folder, filepath.Base(path))
	}
	old, err := os.ReadFile(path)
	f := changed{New: content, Mode: mode, old: old}
	switch info, errInfo := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
	case errors.Join(err, errInfo) != nil:
		return errors.Join(err, errInfo)
	case bytes.Equal(old, content):
		return nil
	default:
		f.Old, f.Mode = hexSHA(old), info.Mode().Perm()
	}
	if f.Path, err = filepath.Rel(c.dir, path); err != nil { // on another volume
		return err
	}
	c.files = append(c.files, f)
	return nil
}

func hexSHA(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// commit writes the files. They are first written into the journal: from then on a crash only delays the change, which
// [finishChange] then ends.
func (c *change) commit() error {
	if len(c.files) == 0 {
		return nil
	}
	text, err := json.Marshal(c.files)
	if err != nil {
		return err
	}
	stage, err := os.MkdirTemp(c.dir, journal+"-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(stage) }() // gone, if all went well
	if err := state.Replace(filepath.Join(stage, "files.json"), text, 0o600); err != nil {
		return err
	}
	if err := c.pause(); err != nil {
		return err
	}
	if err := os.Rename(stage, filepath.Join(c.dir, journal)); err != nil {
		return fmt.Errorf("somebody else changes files of this fleet: %w", err)
	}
	_, err = finishChange(c.dir, c.pause)
	return err
}

func (c *change) pause() error {
	if c.step == nil {
		return nil
	}
	return c.step()
}

// finishChange ends a change that was begun in a folder, and says what it did; nothing if there was none. If other
// hands have changed a file before the first one was written, the change is forgotten; later, it is an error.
func finishChange(dir string, pause func() error) (did string, err error) {
	folder := filepath.Join(dir, journal)
	text, err := os.ReadFile(filepath.Join(folder, "files.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	var files []changed
	if err == nil {
		err = json.Unmarshal(text, &files)
	}
	if err != nil {
		return "", fmt.Errorf("%s: the journal of a change cannot be read: %w", folder, err)
	}
	var open []changed
	var foreign []string
	for _, f := range files {
		found, sum := filepath.Join(dir, f.Path), ""
		now, err := os.ReadFile(found)
		if err == nil {
			sum = hexSHA(now)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		if sum == f.Old {
			open = append(open, f)
		} else if sum != hexSHA(f.New) {
			foreign = append(foreign, found)
		}
	}
	did = fmt.Sprintf("a change that was interrupted is finished now: %d of %d files were left", len(open), len(files))
	if len(foreign) > 0 {
		if len(open)+len(foreign) < len(files) {
			return "", fmt.Errorf("%s: a change was interrupted when some of its files were written, and since then "+
				"other hands have changed %s: put that back as it was, or remove the folder and make the rest fit",
				folder, strings.Join(foreign, ", "))
		}
		open, did = nil, "a change that was interrupted is undone, none of its files was written: other hands have "+
			"changed "+strings.Join(foreign, ", ")
	}
	for _, f := range open {
		path := filepath.Join(dir, f.Path)
		err := pause()
		if err == nil {
			err = os.MkdirAll(filepath.Dir(path), 0o700)
		}
		if err == nil {
			err = state.Replace(path, f.New, f.Mode)
		}
		if err != nil {
			return "", err
		}
	}
	if err := pause(); err != nil {
		return "", err
	}
	old := folder + "-done" // half removed it is no journal any more
	if err := errors.Join(os.RemoveAll(old), os.Rename(folder, old), os.RemoveAll(old)); err != nil {
		return "", err
	}
	return did, syncFolder(dir)
}

// syncFolder makes the names in a folder durable, on systems that can.
func syncFolder(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// setField gives a field of the JSON object in text another value, and leaves all else as it is, to the byte. A field
// that is not there becomes the last one.
func setField(text []byte, key, value string) ([]byte, error) {
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

// difference returns the lines that are only in the old text, and those only in the new one, each in order.
func difference(old, text []byte) (removed, added []string) {
	split := func(b []byte) []string {
		if len(b) == 0 {
			return nil
		}
		return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	}
	a, b := split(old), split(text)
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	if len(a)*len(b) > 1<<24 { // of a fleet of thousands
		return a, b
	}
	// longest[i][j] is the length of the longest list of lines that a[i:] and b[j:] have in common.
	longest := make([][]int32, len(a)+1)
	longest[len(a)] = make([]int32, len(b)+1)
	for i := len(a) - 1; i >= 0; i-- {
		longest[i] = make([]int32, len(b)+1)
		for j := len(b) - 1; j >= 0; j-- {
			longest[i][j] = max(longest[i+1][j], longest[i][j+1])
			if a[i] == b[j] {
				longest[i][j] = longest[i+1][j+1] + 1
			}
		}
	}
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		switch {
		case a[i] == b[j]:
			i, j = i+1, j+1
		case longest[i+1][j] >= longest[i][j+1]:
			removed, i = append(removed, a[i]), i+1
		default:
			added, j = append(added, b[j]), j+1
		}
	}
	return append(removed, a[i:]...), append(added, b[j:]...)
}
