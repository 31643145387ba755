package task

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// The rules of [Missing].
const (
	fillMean   = "mean"
	fillMedian = "median"
	indicate   = "indicator"
	dropRows   = "drop"
)

// Missing specifies how to handle missing cells of a CSV file. A cell is missing if it is empty or has one of these
// texts, in upper or lower case: "NA", "N/A", "#N/A", "NaN", "null" or "?", and in columns of numbers also "none", "-"
// or ".".
type Missing struct {
	// Rule is "mean" or "median", which fill missing cells; "indicator", which fills them with the mean and marks them
	// in additional columns of zeros and ones; or "drop", which drops rows with a missing cell. Every rule drops rows
	// whose label is missing.
	Rule string `json:"rule"`

	// Fill has a value for each column, after categories have become columns of zeros and ones. The value replaces the
	// missing cells of the column. Fill is nil with "drop".
	Fill []float64 `json:"fill,omitempty"`

	// Columns lists the columns of the file whose missing cells are marked by the rule "indicator": all columns with a
	// missing cell in the data that the rule was fitted on, and all columns that the Spec names.
	Columns []string `json:"columns,omitempty"`
}

func checkRule(rule string) error {
	if !slices.Contains([]string{"", fillMean, fillMedian, indicate, dropRows}, rule) {
		return fieldError("missing", "%q, want mean, median, indicator or drop", rule)
	}
	return nil
}

// missing splits Spec.Missing into the rule and the columns that follow "indicator:" (told).
func (s Spec) missing() (rule string, told []string) {
	if columns, found := strings.CutPrefix(s.Missing, indicate+":"); found {
		return indicate, strings.Split(columns, ",")
	}
	return s.Missing, nil
}

const everyColumn = "*" // valid after "indicator:" in Spec.Missing, and as a name in Spec.Scale

// fitMissing fits the fill values and the list of marked columns on a training set, in which NaN is a missing number.
func (s Spec) fitMissing(train *Data, columns []Column) (*Missing, error) {
	rule, told := s.missing()
	for _, name := range told {
		if name != everyColumn && indexOf(columns, name) < 0 {
			return nil, fieldError("missing", "%q: %q is not the name of a feature column", s.Missing, name)
		}
	}
	m := &Missing{Rule: rule}
	if rule == dropRows {
		return m, nil
	}
	m.Fill = make([]float64, train.Dim)
	gaps := make([]bool, train.Dim) // true for each column with a missing number
	for j := range m.Fill {
		var present []float64
		for i := range train.Y {
			if x := train.Value(i, j); !math.IsNaN(x) {
				present = append(present, x)
			}
		}
		n := len(present)
		gaps[j] = n < train.Len()
		switch {
		case n == 0:
			return nil, fmt.Errorf("task: column %q is empty in all training rows: omit the column", train.Features[j])
		case rule == fillMedian:
			slices.Sort(present)
			m.Fill[j] = present[(n-1)/2]/2 + present[n/2]/2
		default:
			m.Fill[j] = sum(present) / float64(n)
		}
	}
	for k, j := range firstOf(columns) {
		name := columns[k].Name
		if rule == indicate && (gaps[j] || slices.Contains(told, name) || slices.Contains(told, everyColumn)) {
			m.Columns = append(m.Columns, name)
		}
	}
	return m, nil
}

// firstOf returns, for each column of a file, the index of the first data column made from that column.
func firstOf(columns []Column) []int {
	var first []int
	n := 0
	for _, c := range columns {
		first = append(first, n)
		n += max(1, len(c.Categories))
	}
	return first
}

func (r *Recipe) fill(d *Data) *Data {
	m := r.Missing
	var marks []int
	for k, j := range firstOf(r.Columns) {
		if slices.Contains(m.Columns, r.Columns[k].Name) {
			marks = append(marks, j)
		}
	}
	out := d.mapped(d.Dim+len(marks), func(to, from []float64) {
		for j, x := range from {
			if math.IsNaN(x) {
				x = m.Fill[j]
			}
			to[j] = x
		}
		for k, j := range marks {
			if math.IsNaN(from[j]) {
				to[len(from)+k] = 1
			}
		}
	})
	out.Features = slices.Clip(d.Features)
	for _, name := range m.Columns {
		out.Features = append(out.Features, name+" missing")
	}
	return out
}

func (m *Missing) validate(r *Recipe, want func(ok bool, format string, args ...any)) {
	want(m.Rule != "" && r.Source == "csv", "missing.rule is %q, want a rule only with the source csv", m.Rule)
	raw := r.raw()
	if m.Rule == dropRows {
		raw = 0
	}
	want(len(m.Fill) == raw, "missing.fill has %d numbers, want %d, one for each column", len(m.Fill), raw)
	held("missing.fill", m.Fill, want)
	at := -1
	for i, name := range m.Columns {
		next := indexOf(r.Columns, name)
		want(next > at && m.Rule == indicate, "missing.columns[%d] is %q, want names from columns in their order, with rule indicator only",
			i, name)
		at = next
	}
}
