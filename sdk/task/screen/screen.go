package screen

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/spade-dfl/spade-edge/sdk/task"
)

// The kinds of [Suspicion].
const (
	Sentinel = "sentinel" // a number far from all others is there again and again: it may stand for a missing value
	Unit     = "unit"     // all values are off by about one factor
	Far      = "far"      // most values are far from what is expected
	Swapped  = "swapped"  // two columns would fit if each were the other
	Constant = "constant" // every row has the same value
	Unknown  = "unknown"  // a category that the recipe does not have
	Labels   = "labels"   // the columns tell nothing about the label
)

const (
	fewest   = 10  // present values from which on a column is judged
	repeated = 3   // how often a number must be there to be a sentinel
	apart    = 3.5 // how many spreads a sentinel is from the middle of the others
	far      = 3   // how many spreads the median is from the mean that is expected
	close    = 1.5 // and from that of the right unit, or of the right column
	strange  = 4   // how many spreads a single value is from the mean
)

// Report is what there is in a table, and what is suspicious.
type Report struct {
	Rows       int         `json:"rows"`
	Classes    []Count     `json:"classes,omitempty"` // none for a target
	Columns    []Column    `json:"columns"`
	Suspicions []Suspicion `json:"suspicious"`
}

// Count is how many rows have a value.
type Count struct {
	Value string `json:"value"`
	Rows  int    `json:"rows"`
}

// Column is a column of the file.
type Column struct {
	Name       string   `json:"name"`
	Missing    int      `json:"missing"`              // cells
	Categories []Count  `json:"categories,omitempty"` // those that occur; none for numbers
	Numbers    *Numbers `json:"numbers,omitempty"`    // nil for categories, and if all cells are missing

	expected *reference // nil if there is none
	values   []float64  // those that are present, sorted
	typical  []float64  // without sentinels
}

// Numbers is what a column of numbers has, and the mean and standard deviation that the recipe has of it, if it has any.
type Numbers struct {
	Low, Median, High float64
	Mean, Std         float64 // Std is 0 if nothing is expected
}

// reference is where the values of a column are expected.
type reference struct{ mean, std float64 }

// Suspicion is what may be wrong with a column, or with the label.
type Suspicion struct {
	Kind    string `json:"kind"`
	Column  string `json:"column"`
	Other   string `json:"other,omitempty"` // Swapped: with which
	Count   int    `json:"count"`           // values
	Of      int    `json:"of"`
	Example string `json:"example"` // a value
	Text    string `json:"text"`    // what was found and what was expected, for people
}

// String names column and finding.
func (s Suspicion) String() string { return fmt.Sprintf("column %q: %s", s.Column, s.Text) }

// Table looks at samples as [task.Recipe.Raw] returns them. With own, the recipe was fitted on these very samples, and expects nothing
// of them. unknown counts the values that are no category of a column, by column and value; it may be nil. The data do not change.
func Table(r *task.Recipe, d *task.Data, own bool, unknown map[[2]string]int) *Report {
	p := &Report{Rows: d.Len(), Suspicions: []Suspicion{}}
	for c, name := range d.ClassNames {
		n := 0
		for _, y := range d.Y {
			if y == c {
				n++
			}
		}
		if r.Target == nil {
			p.Classes = append(p.Classes, Count{name, n})
		}
	}
	at := 0
	for _, c := range r.Columns {
		p.Columns = append(p.Columns, column(c, d, at))
		now := &p.Columns[len(p.Columns)-1]
		if s := r.Standardize; s != nil && c.Categories == nil && s.Std[at] > 0 && !own {
			now.expect(s.Mean[at], s.Std[at])
		}
		at += max(1, len(c.Categories))
	}
	p.judge()
	p.compare()
	for _, key := range sortedKeys(unknown) {
		p.add(Suspicion{Kind: Unknown, Column: key[0], Count: unknown[key], Of: p.Rows, Example: key[1],
			Text: fmt.Sprintf("%d of %d values are %.40q, none of its categories", unknown[key], p.Rows, key[1])})
	}
	return p
}

func sortedKeys(m map[[2]string]int) (keys [][2]string) {
	for k := range m {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b [2]string) int { return slices.Compare(a[:], b[:]) })
	return keys
}

// Among compares the tables of several sites, for which nothing was agreed, with each other: each column of numbers with the
// middle of the same one at the others, of which at least two must have it. The reports are of one recipe.
func Among(all []*Report) {
	for i, p := range all {
		for k := range p.Columns {
			var medians []float64
			wide := 0.0
			for j, other := range all {
				if v := other.Columns[k].typical; j != i && len(v) >= fewest {
					medians, wide = append(medians, quantile(v, 0.5)), max(wide, spread(v))
				}
			}
			if slices.Sort(medians); len(medians) >= 2 && wide > 0 {
				p.Columns[k].expect(quantile(medians, 0.5), wide)
			}
		}
		p.compare()
	}
}

func (c *Column) expect(mean, std float64) {
	c.expected = &reference{mean, std}
	if c.Numbers != nil {
		c.Numbers.Mean, c.Numbers.Std = mean, std
	}
}

// column reads a column of a file from the columns of its numbers, or of its categories, from number at on.
func column(c task.Column, d *task.Data, at int) Column {
	out := Column{Name: c.Name}
	counts := make([]int, len(c.Categories))
	for i := range d.Len() {
		row := d.Row(i)[at:]
		switch {
		case row[0] != row[0]:
			out.Missing++
		case c.Categories == nil:
			out.values = append(out.values, float64(row[0]))
		default:
			for k := range counts {
				counts[k] += int(row[k])
			}
		}
	}
	for k, n := range counts {
		if n > 0 {
			out.Categories = append(out.Categories, Count{c.Categories[k], n})
		}
	}
	if len(out.values) > 0 {
		slices.Sort(out.values)
		out.Numbers = &Numbers{Low: out.values[0], Median: quantile(out.values, 0.5), High: out.values[len(out.values)-1]}
	}
	out.typical = out.values
	return out
}

// judge looks at each column by itself.
func (p *Report) judge() {
	for i := range p.Columns {
		c := &p.Columns[i]
		if len(c.Categories) == 1 && c.Categories[0].Rows >= fewest {
			p.constant(c, c.Categories[0].Rows, c.Categories[0].Value)
		}
		c.negative(p)
		for _, s := range c.sentinels() {
			p.add(s)
		}
		if n := len(c.typical); n >= fewest && c.typical[0] == c.typical[n-1] {
			p.constant(c, n, short(c.typical[0]))
		}
	}
}

// compare looks at the columns that are far from what is expected.
func (p *Report) compare() {
	swapped := map[string]bool{}
	for i := range p.Columns {
		a := &p.Columns[i]
		if swapped[a.Name] || !a.isFar() {
			continue
		}
		if b := p.partner(a); b != nil {
			swapped[b.Name] = true
			p.add(Suspicion{Kind: Swapped, Column: a.Name, Other: b.Name, Count: len(a.typical), Of: p.Rows, Example: short(a.median()),
				Text: fmt.Sprintf("its %d values are about %s, those of %q about %s: as if they were swapped (expected %s and %s)",
					len(a.typical), short(a.median()), b.Name, short(b.median()), a.expected, b.expected)})
		} else {
			p.add(a.off())
		}
	}
}

func (p *Report) add(s Suspicion) { p.Suspicions = append(p.Suspicions, s) }

func (p *Report) constant(c *Column, n int, value string) {
	text := fmt.Sprintf("all of its %d values are %.40s", n, value)
	if c.isFar() {
		text += fmt.Sprintf(", expected are %s", c.expected)
	}
	p.add(Suspicion{Kind: Constant, Column: c.Name, Count: n, Of: n, Example: value, Text: text})
	c.typical = nil
}

// negative finds a category that is a negative number where all others are numbers that are not.
func (c *Column) negative(p *Report) {
	var below *Count
	for i, v := range c.Categories {
		if x, err := strconv.ParseFloat(v.Value, 64); err != nil || x < 0 && below != nil {
			return
		} else if x < 0 {
			below = &c.Categories[i]
		}
	}
	if n := p.Rows - c.Missing; below != nil && len(c.Categories) > 2 {
		p.add(Suspicion{Kind: Sentinel, Column: c.Name, Count: below.Rows, Of: n, Example: below.Value,
			Text: fmt.Sprintf("%d of %d values are %s, the only negative category", below.Rows, n, below.Value)})
	}
}

// sentinels finds numbers at either end of a column that are there repeatedly, and far from all others; what is left is typical.
func (c *Column) sentinels() (found []Suspicion) {
	for {
		v := c.typical
		n := len(v)
		if n < fewest || v[0] == v[n-1] {
			return found
		}
		low, high := 1, 1 // how often the least is there, and the largest
		for v[low] == v[0] {
			low++
		}
		for v[n-1-high] == v[n-1] {
			high++
		}
		at, count, rest := v[0], low, v[low:]
		if !isSentinel(at, count, rest) {
			at, count, rest = v[n-1], high, v[:n-high]
		}
		if !isSentinel(at, count, rest) {
			return found
		}
		c.typical = rest
		found = append(found, Suspicion{Kind: Sentinel, Column: c.Name, Count: count, Of: len(c.values), Example: short(at),
			Text: fmt.Sprintf("%d of %d values are %s, far from all others (%s to %s)", count, len(c.values), short(at), short(rest[0]),
				short(rest[len(rest)-1]))})
	}
}

// isSentinel judges an end of a column by the sorted rest of it: the gap between them must be wider than any other but those of
// a few outliers.
func isSentinel(at float64, count int, rest []float64) bool {
	if count < repeated || len(rest) < fewest {
		return false
	}
	s := spread(rest)
	gap := min(math.Abs(at-rest[0]), math.Abs(at-rest[len(rest)-1]))
	widest, few := 0.0, 1+len(rest)/50
	for i := few; i+1 < len(rest)-few; i++ {
		widest = max(widest, rest[i+1]-rest[i])
	}
	return s > 0 && gap > s && gap > widest && math.Abs(at-quantile(rest, 0.5)) > apart*s
}

func (c *Column) median() float64 { return quantile(c.typical, 0.5) }

// isFar reports whether most values are far from where they are expected.
func (c *Column) isFar() bool {
	return c.expected != nil && len(c.typical) >= fewest && c.expected.off(c.median()) > far
}

func (e *reference) off(x float64) float64 { return math.Abs(x-e.mean) / e.std }

func (e *reference) String() string { return short(e.mean) + " ± " + short(e.std) }

// partner returns the column with which c may be swapped: each then is where the other is expected. It is nil if there is none.
func (p *Report) partner(c *Column) (best *Column) {
	least := float64(far)
	for i := range p.Columns {
		o := &p.Columns[i]
		if o == c || o.expected == nil || len(o.typical) < fewest {
			continue
		}
		a, b := o.expected.off(c.median()), c.expected.off(o.median())
		if a < close && b < close && a+b < least && o.expected.off(o.median()) > close {
			best, least = o, a+b
		}
	}
	return best
}

// off says how a column is far from what is expected: in another unit if one factor brings both the middle and the spread there.
func (c *Column) off() Suspicion {
	m := c.median()
	s := Suspicion{Kind: Far, Column: c.Name, Count: len(c.typical), Of: len(c.values), Example: short(m),
		Text: fmt.Sprintf("its values are about %s, expected are %s", short(m), c.expected)}
	factor := c.expected.mean / m
	wide := spread(c.typical) * math.Abs(factor) / c.expected.std
	if factor > 0 && (factor > 2 || factor < 0.5) && !math.IsInf(factor, 0) && wide > 0.25 && wide < 4 {
		s.Kind = Unit
		by := "larger"
		if factor > 1 {
			by = "smaller"
		} else {
			factor = 1 / factor
		}
		s.Text += fmt.Sprintf(": about %s times %s, as in another unit", short(factor), by)
	}
	return s
}

// Strange lists single values that are far from what is expected of their column, one suspicion a column: what a model says of such a
// row is a guess beyond what it was fitted on. The example is the first one, with the number of its row, from 1.
func Strange(r *task.Recipe, d *task.Data) (found []Suspicion) {
	at := 0
	for _, c := range r.Columns {
		if s := r.Standardize; s != nil && c.Categories == nil && s.Std[at] > 0 {
			e, one := &reference{s.Mean[at], s.Std[at]}, Suspicion{Kind: Far, Column: c.Name, Of: d.Len()}
			for i := range d.Len() {
				if x := float64(d.Row(i)[at]); e.off(x) > strange { // not a missing one
					if one.Count++; one.Count == 1 {
						one.Example = fmt.Sprintf("%s in row %d", short(x), i+1)
					}
				}
			}
			if one.Count*1000 >= d.Len() && one.Count > 0 { // else they may be the tails of a column
				one.Text = fmt.Sprintf("%d of %d far from what the model was fitted for, %s, such as %s", one.Count, one.Of, e, one.Example)
				found = append(found, one)
			}
		}
		at += max(1, len(c.Categories))
	}
	return found
}

// quantile returns a quantile of sorted values, between two if need be.
func quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	below := int(at)
	above := min(below+1, len(sorted)-1)
	return sorted[below] + float64((sorted[above]-sorted[below])*(at-float64(below)))
}

// spread is the standard deviation of sorted values, or that of a normal variable with their quartiles if it is larger.
func spread(sorted []float64) float64 {
	mean, square := 0.0, 0.0
	for _, x := range sorted {
		mean += x
	}
	mean /= float64(len(sorted))
	for _, x := range sorted {
		square += float64((x - mean) * (x - mean))
	}
	return max(math.Sqrt(square/float64(len(sorted))), (quantile(sorted, 0.75)-quantile(sorted, 0.25))/1.349)
}

// short writes a number for people.
func short(x float64) string { return strconv.FormatFloat(x, 'g', 4, 64) }
