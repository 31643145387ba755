package experiment

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/spade-dfl/spade-edge/examples/paper/sweep"
)

// Session describes the origin of results. A program that adds results to a file first writes its session as one line.
type Session struct {
	sweep.Origin
	Seeds string `json:"seeds"`
}

// NewSession describes this execution of the program.
func NewSession(seeds int) Session {
	return Session{sweep.NewOrigin(), fmt.Sprintf("1..%d", seeds)}
}

// Store keeps results in a folder: one file per table and data set, one line of JSON per result. It is safe for
// concurrent use within one program.
type Store struct {
	dir     string
	session Session
	mu      sync.Mutex
	begun   map[string]bool
}

// NewStore returns a store in the folder dir, which it creates if necessary.
func NewStore(dir string, session Session) (*Store, error) {
	return &Store{dir: dir, session: session, begun: make(map[string]bool)}, os.MkdirAll(dir, 0o755)
}

// name returns the name of the file that holds a table's results on a data set.
func name(table, dataset string) string { return "runs-" + table + "-" + dataset + ".jsonl" }

// Add appends a result to its file. On return, the data has been handed to the operating system.
func (s *Store) Add(r Result) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	file := name(r.Table, r.Dataset)
	var text []byte
	if !s.begun[file] {
		line, err := json.Marshal(struct {
			Session Session `json:"session"`
		}{s.session})
		if err != nil {
			return err
		}
		text = append(line, '\n')
	}
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := appendTo(filepath.Join(s.dir, file), append(append(text, line...), '\n')); err != nil {
		return err
	}
	s.begun[file] = true
	return nil
}

// Results returns all results of a table on a data set, one per job. It skips truncated lines. If the file is missing,
// the slice is empty.
func (s *Store) Results(table, dataset string) ([]Result, error) {
	text, err := os.ReadFile(filepath.Join(s.dir, name(table, dataset)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var out []Result
	seen := make(map[Job]bool)
	for line := range bytes.Lines(text) {
		var r Result
		if json.Unmarshal(line, &r) != nil || r.Method == "" || seen[r.id()] {
			continue
		}
		seen[r.id()] = true
		out = append(out, r)
	}
	return out, nil
}

// Keep removes lines from the file that holds a table's results on a data set: results for which keep returns false,
// truncated lines, and duplicates.
func (s *Store) Keep(table, dataset string, keep func(Result) bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return rewrite(filepath.Join(s.dir, name(table, dataset)), func(line []byte) bool {
		var r Result
		return json.Unmarshal(line, &r) == nil && (r.Method == "" || keep(r))
	})
}

// rewrite removes duplicate lines and lines for which keep returns false from a file. It treats a missing file as
// empty.
func rewrite(path string, keep func(line []byte) bool) error {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var kept []byte
	seen := make(map[string]bool)
	for line := range bytes.Lines(text) {
		if !seen[string(line)] && keep(line) {
			kept = append(kept, line...)
		}
		seen[string(line)] = true
	}
	if len(kept) == len(text) {
		return nil
	}
	if err := os.WriteFile(path+".new", kept, 0o644); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// appendTo appends text to a file. If an interrupted program left an incomplete last line, it first ends that line.
func appendTo(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	size, err := f.Seek(0, io.SeekEnd)
	if err == nil && size > 0 {
		last := make([]byte, 1)
		if _, err = f.ReadAt(last, size-1); err == nil && last[0] != '\n' {
			text = append([]byte{'\n'}, text...)
		}
	}
	if err == nil {
		_, err = f.Write(text)
	}
	return errors.Join(err, f.Close())
}

func (j Job) id() Job {
	j.Curve = false
	return j
}

// cell returns the job without the fields that differ between the runs of one table entry.
func (j Job) cell() Job {
	j.Curve, j.Seed, j.Fold = false, 0, 0
	return j
}
