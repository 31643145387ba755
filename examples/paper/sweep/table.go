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

// Table is a CSV file of results with a header line. Its first columns are the key of a run, and all rows with the same
// key are what came of it. It is safe for use by several goroutines.
type Table struct {
	path   string
	header []string
	keys   int

	mu    sync.Mutex
	runs  map[string][][]string
	added bool // by this program run
}

// Open reads the table in a file, or begins one there, in a folder that is made if need be. header names the columns;
// the first keys of them are the key. A last line that was cut off is dropped; a file with another header is refused.
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

// Rows returns what came of a run, in the order in which it was added; none if it is not there. The rows are the
// table's.
func (t *Table) Rows(keys ...string) [][]string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.runs[key(keys)]
}

// Add keeps all rows that came of one run. They are on their way to the disk when it returns.
func (t *Table) Add(rows ...[]string) error {
	var text bytes.Buffer
	w := csv.NewWriter(&text)
	for _, row := range rows {
		if len(row) != len(t.header) || key(row[:t.keys]) != key(rows[0][:t.keys]) {
			return fmt.Errorf("sweep: row %q beside %q, want %d columns and one run", row, rows[0], len(t.header))
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

// changed reports whether this program run has added something.
func (t *Table) changed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.added
}

// Drop forgets a run, for good once Sort has been called.
func (t *Table) Drop(keys ...string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.runs, key(keys))
}

// Sort writes the file anew with the runs in order of their keys, compared as whole numbers where both are, so that it
// does not tell in which order they were done.
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

// compare orders two values of a column.
func compare(a, b string) int {
	if number(a) && number(b) && len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}

// number reports whether s is a whole number without a sign and without leading zeros.
func number(s string) bool {
	return s == "0" || s != "" && s[0] != '0' && strings.Trim(s, "0123456789") == ""
}
