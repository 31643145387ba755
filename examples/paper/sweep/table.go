package sweep

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Table is a CSV file of results with a header line. Its first columns are the key of a run; all rows with the same key
// belong to that run. It is safe for concurrent use.
type Table struct {
	path   string
	header []string
	keys   int

	mu    sync.Mutex
	runs  map[string][][]string
	added bool // this run of the program has added rows
}

// Open reads a table from a file, or creates the file and its folder. header lists the column names. The parameter keys
// is the number of leading columns that form the key of a run. Open drops an incomplete last line. It returns an error
// if the file has a different header.
func Open(path string, keys int, header ...string) (*Table, error) {
	t := &Table{path: path, header: header, keys: keys, runs: make(map[string][][]string)}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return nil, fmt.Errorf("sweep: %w", err)
		}
		return t, t.Sort()
	}
	if err != nil {
		return nil, fmt.Errorf("sweep: %w", err)
	}
	whole := text[:bytes.LastIndexByte(text, '\n')+1]
	r := csv.NewReader(bytes.NewReader(whole))
	r.FieldsPerRecord = len(header)
	for line := 0; ; line++ {
		row, err := r.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("sweep: %s: %w", path, err)
		}
		if line == 0 {
			if !slices.Equal(row, header) {
				return nil, fmt.Errorf("sweep: %s has columns %q, want %q", path, row, header)
			}
			continue
		}
		k := key(row[:keys])
		t.runs[k] = append(t.runs[k], row)
	}
	if len(whole) < len(text) || len(text) == 0 {
		return t, t.Sort()
	}
	return t, nil
}

func key(parts []string) string { return strings.Join(parts, "\x00") }

// Rows returns the rows of the run with the given key, in the order in which they were added, or nil if there are none.
// The rows belong to the table and must not be changed.
func (t *Table) Rows(keys ...string) [][]string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.runs[key(keys)]
}

// Add stores all rows of one run. On return, the data has been handed to the operating system.
func (t *Table) Add(rows ...[]string) error {
	var text bytes.Buffer
	w := csv.NewWriter(&text)
	for _, row := range rows {
		if len(row) != len(t.header) || key(row[:t.keys]) != key(rows[0][:t.keys]) {
			return fmt.Errorf("sweep: rows are %q and %q, want %d columns in each row, and both rows from the same run",
				row, rows[0], len(t.header))
		}
	}
	if err := w.WriteAll(rows); err != nil {
		return fmt.Errorf("sweep: %w", err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	f, err := os.OpenFile(t.path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return fmt.Errorf("sweep: %w", err)
	}
	_, err = f.Write(text.Bytes())
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("sweep: %w", err)
	}
	t.runs[key(rows[0][:t.keys])], t.added = rows, true
	return nil
}

func (t *Table) changed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.added
}

// Drop removes a run from memory. The next call of Sort removes the run from the file.
func (t *Table) Drop(keys ...string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.runs, key(keys))
}

// Sort rewrites the file with the runs sorted by key, so that the file does not depend on the order of execution.
// Corresponding parts of two keys are compared as integers if both are integers.
func (t *Table) Sort() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var runs [][][]string
	for _, rows := range t.runs {
		runs = append(runs, rows)
	}
	slices.SortFunc(runs, func(a, b [][]string) int { return slices.CompareFunc(a[0][:t.keys], b[0][:t.keys], compare) })
	var text bytes.Buffer
	w := csv.NewWriter(&text)
	w.Write(t.header)
	for _, rows := range runs {
		w.WriteAll(rows)
	}
	w.Flush()
	if err := errors.Join(w.Error(), os.WriteFile(t.path+".new", text.Bytes(), 0o666)); err != nil {
		return fmt.Errorf("sweep: %w", err)
	}
	if err := os.Rename(t.path+".new", t.path); err != nil {
		return fmt.Errorf("sweep: %w", err)
	}
	return nil
}

func compare(a, b string) int {
	if number(a) && number(b) && len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}

// number reports whether s is an integer without a sign or leading zeros.
func number(s string) bool {
	return s == "0" || s != "" && s[0] != '0' && strings.Trim(s, "0123456789") == ""
}
