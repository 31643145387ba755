package adapter

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Most is the maximum number of parameters of a model, D.
const Most = 1 << 28

// The forms of a [Spec].
const (
	Random = "random"
	Coords = "coords"
	LoRA   = "lora"
	Basis  = "basis"
)

// Spec is the public description of x0 and A. All members of a fleet have the same Spec: it is the fleet's task, see
// [Spec.Task].
type Spec struct {
	Form string `json:"form"`           // Random, Coords, LoRA or Basis
	Dim  int    `json:"dim"`            // d, trained numbers, 1..Of
	Of   int    `json:"of"`             // D, parameters of the model, 1..Most
	Seed uint64 `json:"seed,omitempty"` // seed of the signs; only Random and LoRA

	Ranges   [][2]int `json:"ranges,omitempty"`   // Coords: the first and the last coordinate of each range, ascending
	Rank     int      `json:"rank,omitempty"`     // LoRA: rows of signs for each matrix
	Matrices []Matrix `json:"matrices,omitempty"` // LoRA: matrices that are changed; they do not overlap

	Basis *File `json:"basis,omitempty"` // Basis: d rows of D float32, little endian
	Base  *File `json:"base,omitempty"`  // x0: D float32, little endian; nil for zeros
}

// Matrix is a Rows x Columns matrix within the parameters of a model, stored row by row.
type Matrix struct {
	Name    string `json:"name"` // label for display
	Offset  int    `json:"offset"`
	Rows    int    `json:"rows"`
	Columns int    `json:"columns"`
}

// File is a file of numbers in the folder that [Open] gets, or in a subfolder.
type File struct {
	File   string `json:"file"`
	SHA256 string `json:"sha256"` // SHA-256 in 64 lower case hexadecimal digits
}

// Parse returns the Spec that a text describes: "random:DIM:SEED", "coords:RANGES" (see [ParseRanges]) or
// "lora:RANK:SEED:NAME=OFFSET:ROWSxCOLUMNS,...". The second argument is D, the number of the model's parameters.
func Parse(text string, of int) (*Spec, error) {
	s := &Spec{Of: of}
	var matrices string
	again := "none"
	switch s.Form, _, _ = strings.Cut(text, ":"); s.Form {
	case Random:
		_, _ = fmt.Sscanf(text, "random:%d:%d", &s.Dim, &s.Seed) // a mismatch is detected below
		again = fmt.Sprintf("random:%d:%d", s.Dim, s.Seed)
	case Coords:
		var err error
		if s.Ranges, s.Dim, err = ParseRanges(strings.TrimPrefix(text, "coords:")); err != nil {
			return nil, err
		}
		again = text
	case LoRA:
		_, _ = fmt.Sscanf(text, "lora:%d:%d:%s", &s.Rank, &s.Seed, &matrices)
		again = fmt.Sprintf("lora:%d:%d:%s", s.Rank, s.Seed, matrices)
		for part := range strings.SplitSeq(matrices, ",") {
			var m Matrix
			name, sizes, _ := strings.Cut(part, "=")
			_, _ = fmt.Sscanf(sizes, "%d:%dx%d", &m.Offset, &m.Rows, &m.Columns)
			if m.Name = name; fmt.Sprintf("%s=%d:%dx%d", m.Name, m.Offset, m.Rows, m.Columns) != part {
				return nil, fmt.Errorf("adapter: found matrix %.80q, want NAME=OFFSET:ROWSxCOLUMNS, such as fc=0:10x64", part)
			}
			s.Matrices = append(s.Matrices, m)
		}
		s.Dim = int(s.trained()) // Validate rejects a Dim that is too large
	}
	if text != again {
		return nil, fmt.Errorf("adapter: found %.80q, want random:DIM:SEED, coords:RANGES or lora:RANK:SEED:MATRICES", text)
	}
	return s, s.Validate()
}

// ParseRanges parses an ascending list of coordinates and ranges of coordinates ("first-last"), separated by white
// space or commas. It returns the total number of coordinates as dim.
func ParseRanges(text string) (ranges [][2]int, dim int, err error) {
	split := func(r rune) bool { return strings.ContainsRune(" \t\r\n,", r) }
	for _, part := range strings.FieldsFunc(text, split) {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		a, errFirst := strconv.Atoi(first)
		b, errLast := strconv.Atoi(last)
		if errFirst != nil || errLast != nil {
			return nil, 0, fmt.Errorf("adapter: found coordinates %.80q, want a number or a range such as 100-227", part)
		}
		ranges, dim = append(ranges, [2]int{a, b}), dim+b-a+1
	}
	return ranges, dim, nil
}

// String returns the spec as a line of JSON.
func (s *Spec) String() string {
	text, _ := json.Marshal(s) // its fields can always be encoded
	return string(text)
}

// task is the object that a program repeats in its hello. Fields that another program adds are no adapter.
type task struct {
	Adapter *Spec `json:"adapter"`
}

// Program returns the JSON object that "spade-edge init -task" reads, and that a scorer with this adapter repeats in
// its hello. A node refuses a scorer with another adapter.
func (s *Spec) Program() json.RawMessage {
	text, _ := json.Marshal(task{s})
	return text
}

// Task returns the task of a fleet with this adapter, for [sdk.Fleet].Task. It is part of the fleet's hash, so members
// with another adapter refuse each other.
func (s *Spec) Task() json.RawMessage {
	text, _ := json.Marshal(map[string]json.RawMessage{"program": s.Program()})
	return text
}

// ReadSpec reads the adapter from a fleet file, or from a file that has [Spec.Program].
func ReadSpec(path string) (*Spec, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("adapter: %w", err)
	}
	var form struct {
		task
		Task struct{ Program task }
	}
	if err := json.Unmarshal(data, &form); err != nil {
		return nil, fmt.Errorf("adapter: %s: %w", path, err)
	}
	s := cmp.Or(form.Adapter, form.Task.Program.Adapter)
	if s == nil {
		return nil, fmt.Errorf("adapter: %s has no adapter, want it in task.program or at the top", path)
	}
	return s, s.Validate()
}

// Radius returns the smoothing radius for a fleet with this adapter, to three digits: 1.5 over the root of the number of
// parameters that a query moves. Give it to [plan.Suggest] as Method.Mu, or to "spade-edge init" as -mu; the step size
// and the clip follow from it.
func (s *Spec) Radius() float64 {
	r, _ := strconv.ParseFloat(strconv.FormatFloat(1.5/math.Sqrt(float64(s.Moved())), 'g', 3, 64), 64)
	return r
}

// Moved returns the mean squared length of the parameters' change if each number of c randomly rises or falls by 1. For
// Basis it assumes orthonormal rows, so the result is d.
func (s *Spec) Moved() int64 {
	switch s.Form {
	case Random:
		return int64(s.Of)
	case LoRA:
		n := int64(0)
		for _, m := range s.Matrices {
			n += int64(s.Rank) * int64(m.Rows) * int64(m.Columns)
		}
		return n
	}
	return int64(s.Dim)
}

// trained returns d. It computes d from Ranges or Matrices, without validating them; for other forms it returns Dim.
func (s *Spec) trained() (d int64) {
	switch s.Form {
	case Coords:
		for _, r := range s.Ranges {
			d += int64(r[1] - r[0] + 1)
		}
	case LoRA:
		for _, m := range s.Matrices {
			d += int64(m.Rows) * int64(s.Rank)
		}
	default:
		d = int64(s.Dim)
	}
	return d
}

// Validate reports all errors at once, each with the name of its JSON field.
func (s *Spec) Validate() error {
	var errs []error
	want := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("adapter: "+format, args...))
		}
	}
	form := s.Form
	want(form == Random || form == Coords || form == LoRA || form == Basis, "form is %.80q, want random, coords, lora or basis", form)
	want(s.Of >= 1 && s.Of <= Most, "of is %d, want the model's parameter count, 1..%d", s.Of, Most)
	want(s.Dim >= 1 && s.Dim <= s.Of, "dim is %d, want 1..%d (the model's parameter count)", s.Dim, s.Of)
	want(form == Random || form == LoRA || s.Seed == 0, "seed is %d, want none for %s", s.Seed, form)
	want(form == Coords || s.Ranges == nil, "ranges is present, want none for %s", form)
	want(form == LoRA || s.Matrices == nil && s.Rank == 0, "matrices or rank is present, want none for %s", form)
	want((form == Basis) == (s.Basis != nil), "basis: want a file exactly if the form is basis, found form %s", form)
	s.Basis.check("basis", want)
	s.Base.check("base", want)
	before := len(errs)
	next := 0
	for i, r := range s.Ranges {
		want(r[0] >= next && r[0] <= r[1] && r[1] < s.Of, "ranges[%d] is %v, want the first and the last coordinate of a range within %d..%d",
			i, r, next, s.Of-1)
		next = max(next, r[1]+1)
	}
	want(form != LoRA || s.Rank >= 1 && s.Rank <= 1024, "rank is %d, want 1..1024", s.Rank)
	next = 0
	for i, m := range s.Matrices {
		fits := m.Rows >= 1 && m.Columns >= 1 && m.Rows <= s.Of && m.Columns <= s.Of &&
			int64(m.Rows)*int64(m.Columns) <= int64(s.Of) && m.Offset >= next && int64(m.Offset)+int64(m.Rows)*int64(m.Columns) <= int64(s.Of)
		want(fits, "matrices[%d] is %+v, want rows and columns within coordinates %d..%d", i, m, next, s.Of-1)
		want(m.Name != "" && len(m.Name) <= 64 && !strings.ContainsAny(m.Name, ",=:\n"), "matrices[%d] has the name %.80q, want 1..64 bytes "+
			"without comma, colon or equals sign", i, m.Name)
		if fits {
			next = m.Offset + m.Rows*m.Columns
		}
	}
	if len(errs) == before {
		want(s.trained() == int64(s.Dim), "dim is %d, want %d, which follows from the %s adapter", s.Dim, s.trained(), form)
	}
	return errors.Join(errs...)
}

func (f *File) check(field string, want func(bool, string, ...any)) {
	if f == nil {
		return
	}
	want(filepath.IsLocal(filepath.FromSlash(f.File)), "%s.file is %.80q, want the name of a file in the same folder or a subfolder", field, f.File)
	digits := strings.Trim(f.SHA256, "0123456789abcdef") == "" && len(f.SHA256) == 64
	want(digits, "%s.sha256 is %.80q, want 64 lower case hexadecimal digits", field, f.SHA256)
}
