package experiment

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"

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

// Results returns all results of a table on a data set, each job once. Lines that were cut off are passed over; no file
// is no results.
func (s *Store) Results(table, dataset string) ([]Result, error) {
	text, err := unpack(filepath.Join(s.dir, name(table, dataset)), moved, "")
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

// Pack compresses the results of a table on a data set. It drops lines that were cut off or are there twice, and
// results that keep says no to.
func (s *Store) Pack(table, dataset string, keep func(Result) bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	file := name(table, dataset)
	packed, err := pack(filepath.Join(s.dir, file), func(line []byte) bool {
		var r Result
		return json.Unmarshal(line, &r) == nil && (r.Method == "" || keep(r))
	})
	if packed {
		s.begun[file] = false
	}
	return err
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
