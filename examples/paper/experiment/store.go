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

	"github.com/klauspost/compress/gzip"

	"github.com/spade-dfl/spade-edge/examples/paper/data"
	"github.com/spade-dfl/spade-edge/examples/paper/sweep"
)

// Session says how results came about. Every program run that adds to a file of results writes one line of it first.
type Session struct {
	sweep.Origin
	Seeds string `json:"seeds"`
}

// NewSession describes this program run.
func NewSession(seeds int) Session {
	return Session{sweep.NewOrigin(), fmt.Sprintf("1..%d", seeds)}
}

// Store keeps results in a folder, one file a table and data set, one line of JSON each. Results are added to a file of
// plain text; [Store.Pack] moves all lines into a compressed one beside it, and both are read. It is safe for use by
// several goroutines.
type Store struct {
	dir     string
	session Session
	mu      sync.Mutex
	begun   map[string]bool
}

// NewStore returns a store in a folder, which it makes if need be.
func NewStore(dir string, session Session) (*Store, error) {
	return &Store{dir: dir, session: session, begun: make(map[string]bool)}, os.MkdirAll(dir, 0o755)
}

// name returns the file of a table's results on a data set.
func name(table, dataset string) string { return "runs-" + table + "-" + dataset + ".jsonl" }

// Add appends a result. It is on its way to the disk when Add returns.
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

// appendTo appends text to a file. If the file's last line was cut off, by a program run that was stopped, text starts
// on a line of its own.
func appendTo(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	size, err := f.Seek(0, 2)
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

// Results returns all results of a table on a data set, each job once. Lines that were cut off are passed over; no file
// is no results.
func (s *Store) Results(table, dataset string) ([]Result, error) {
	text, err := s.read(name(table, dataset), moved, "")
	if err != nil {
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

// moved ends the name of a file of results that is being packed. Its place is taken by a new one as soon as another
// program run adds a result.
const moved = ".moved"

// read returns all lines of a file of results, those that are packed first, then those of the files with the given
// ends; none if there is no file.
func (s *Store) read(file string, ends ...string) ([]byte, error) {
	var text []byte
	packed, err := os.ReadFile(filepath.Join(s.dir, file+".gz"))
	if err == nil {
		var r *gzip.Reader
		if r, err = gzip.NewReader(bytes.NewReader(packed)); err == nil {
			text, err = io.ReadAll(r)
		}
		if err != nil {
			return nil, fmt.Errorf("experiment: %s.gz: %w", file, err)
		}
	}
	for _, end := range ends {
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		var plain []byte
		if plain, err = os.ReadFile(filepath.Join(s.dir, file+end)); len(plain) > 0 {
			text = append(append(text, plain...), '\n') // the last line may have been cut off
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return text, err
}

// Pack compresses the results of a table on a data set. It drops lines that were cut off or are there twice, and
// results that keep says no to; with none of these and no results in plain text it leaves the file as it is. A program
// that is stopped in between leaves results that are there twice, which is the same as once.
func (s *Store) Pack(table, dataset string, keep func(Result) bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	file := name(table, dataset)
	path := filepath.Join(s.dir, file)
	if _, err := os.Stat(path + moved); errors.Is(err, fs.ErrNotExist) {
		if err := os.Rename(path, path+moved); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	text, err := s.read(file, moved)
	if err != nil || len(text) == 0 {
		return err
	}
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return err
	}
	seen := make(map[string]bool)
	dropped := false
	for line := range bytes.Lines(text) {
		var r Result
		drop := json.Unmarshal(line, &r) != nil || seen[string(line)] || r.Method != "" && !keep(r)
		seen[string(line)] = true
		if dropped = dropped || drop; drop {
			continue
		}
		if _, err := w.Write(line); err != nil {
			return err
		}
	}
	if _, err := os.Stat(path + moved); !dropped && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := errors.Join(w.Close(), os.WriteFile(path+".gz.new", packed.Bytes(), 0o644)); err != nil {
		return err
	}
	if err := os.Rename(path+".gz.new", path+".gz"); err != nil {
		return err
	}
	s.begun[file] = false
	if err := os.Remove(path + moved); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// PackAll compresses everything that is in plain text.
func (s *Store) PackAll() error {
	for _, table := range Tables {
		for _, set := range data.Names {
			if err := s.Pack(table, set, func(Result) bool { return true }); err != nil {
				return err
			}
		}
	}
	return nil
}

// id returns the job as it is told apart from others.
func (j Job) id() Job {
	j.Curve = false
	return j
}

// cell returns what all runs of an entry of a table have in common.
func (j Job) cell() Job {
	j.Curve, j.Seed, j.Fold = false, 0, 0
	return j
}
