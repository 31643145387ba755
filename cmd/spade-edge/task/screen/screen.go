package screen

import (
	"crypto/sha256"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task/cell"
)

// The kinds of [Suspicion].
const (
	Sentinel = "sentinel"  // a number far from all other numbers occurs repeatedly: it may stand for a missing value
	Unit     = "unit"      // all values differ from the expected values by about the same factor
	Far      = "far"       // most values are far from the expected values
	Swapped  = "swapped"   // the values of each of two columns are as expected of the other column
	Constant = "constant"  // all rows have the same value
	Unknown  = "unknown"   // a category that the recipe does not have
	Labels   = "labels"    // the columns do not predict the label
	Counter  = "counter"   // the column numbers the rows
	Digits   = "digits"    // values that differ are the same number for the model
	Coding   = "coding"    // two values are coded with other numbers than expected
	Tells    = "tells"     // the column alone tells the class of all rows
	Names    = "names"     // nearly each row has a category of its own
	OneClass = "one class" // all rows have the same class; Column is the label
	NoClass  = "no class"  // the name of a class is one that marks missing values; Column is the label

	Repeated  = "repeated" // rows occur more than once; Column is empty
	NearNames = "near"     // names of classes or categories that are nearly the same
	File      = "file"     // the file as a whole; Column is empty

	NoEvent   = "no event"   // no row has the event of a survival task
	AllEvents = "all events" // all rows have the event of a survival task
	Beyond    = "beyond"     // nearly all times are outside the finite intervals of a survival task
)

const (
	fewest   = 10  // minimum number of present values for which a column is judged
	repeated = 3   // minimum number of times that a sentinel occurs
	apart    = 3.5 // minimum distance of a sentinel from the median of the other values, in units of their spread
	far      = 3   // minimum distance of a suspicious median from the expected mean, in expected standard deviations
	close    = 1.5 // maximum distance of a swapped median from the other column's expected mean, in deviations
	strange  = 4   // minimum distance of a strange single value from the expected mean, in expected standard deviations
)

// Report describes a table and what is suspicious about it.
type Report struct {
	Rows       int         `json:"rows"`
	Classes    []Count     `json:"classes,omitempty"` // rows of each class; nil for a target
	Columns    []Column    `json:"columns"`
	Suspicions []Suspicion `json:"suspicious"`

	time     int                        // index of the column of times, or -1
	rows     map[[sha256.Size]byte]bool // the SHA-256 of each different row; nil if many rows are expected to be equal
	possible float64                    // number of possible rows
}

// Count is a value and the number of rows that have it.
type Count struct {
	Value string `json:"value"`
	Rows  int    `json:"rows"`
}

// Column describes a column of the file, which has either categories or numbers.
type Column struct {
	Name       string  `json:"name"`
	Missing    int     `json:"missing"`              // number of missing cells
	Categories []Count `json:"categories,omitempty"` // categories that occur
	Low        float64 `json:"low"`                  // lowest number; 0 for a column of categories
	Median     float64 `json:"median"`
	High       float64 `json:"high"`
	Mean       float64 `json:"expected_mean,omitempty"`
	Std        float64 `json:"expected_std,omitempty"` // 0 if the column has no expected values

	unknown int       // number of values that are not categories
	values  []float64 // the values that are neither missing nor sentinels, sorted
	each    []float64 // the different ones of these
}

// Suspicion is a possible error in a column or in the label.
type Suspicion struct {
	Kind    string `json:"kind"`
	Column  string `json:"column"`
	Count   int    `json:"count"`   // number of affected values
	Example string `json:"example"` // one of the affected values
	Text    string `json:"text"`    // what was found and what was expected, for people
}

// Table checks samples as [task.Recipe.Raw] returns them. If own is true, the recipe was fitted on these samples, and
// Table does not compare them with the recipe's values. unknown maps a column and a value that is not one of its
// categories to the number of times that the value occurs; it may be nil. Table does not change the data.
func Table(r *task.Recipe, d *task.Data, own bool, unknown map[[2]string]int) *Report {
	p := &Report{Rows: d.Len(), Suspicions: []Suspicion{}, time: -1}
	if r.Target == nil {
		for c, n := range classes(d) {
			p.Classes = append(p.Classes, Count{d.ClassNames[c], n})
			if n == d.Len() && n >= fewest && r.Survival == nil {
				p.add(OneClass, r.Label, n, d.ClassNames[c], "all of %d rows have the class %.40q", n, d.ClassNames[c])
			}
			if name := d.ClassNames[c]; n > 0 && (cell.Blank(name, true) || strings.EqualFold(name, "unknown") || marks(name, d.ClassNames)) {
				p.add(NoClass, r.Label, n, name, "%d of %d rows have the class %.40q", n, d.Len(), name)
			}
		}
	}
	at, odd := 0, map[string]int{}
	for key, n := range unknown {
		odd[key[0]] += n
	}
	for _, c := range r.Columns {
		now := column(c, d, at)
		if s := r.Standardize; s != nil && c.Categories == nil && !own {
			now.Mean, now.Std = s.Mean[at], s.Std[at]
		}
		now.unknown = odd[c.Name]
		p.alone(&now)
		p.tells(c, d, at)
		if n := len(now.Categories); n >= fewest && 2*n > p.Rows-now.Missing {
			p.add(Names, c.Name, n, now.Categories[0].Value, "%d rows have %d categories, such as %.40q", p.Rows-now.Missing, n, now.Categories[0].Value)
		}
		if c.Categories == nil {
			now.each = slices.Compact(slices.Clone(now.values))
			p.counts(&now, d, at)
			p.lost(&now, r.Standardize, at)
			p.coded(&now)
		}
		p.Columns = append(p.Columns, now)
		at += max(1, len(c.Categories))
	}
	p.compare()
	p.times(r, d, own)
	p.repeats(d)
	for _, note := range d.Notes {
		p.add(File, "", 1, "", "%s", note)
	}
	for key, n := range unknown {
		if key[1] != "" { // an empty cell is missing
			p.add(Unknown, key[0], n, key[1], "%.40q (%d times) is not one of its categories", key[1], n)
		}
	}
	slices.SortStableFunc(p.Suspicions, func(a, b Suspicion) int { // the order of a map is random
		return slices.Compare([]string{a.Kind, a.Column, a.Example}, []string{b.Kind, b.Column, b.Example})
	})
	return p
}

// Among compares several sites with each other, for a task without expected values. It compares each column of numbers
// at a site with the medians of the same column at the other sites, if at least two of the other sites (one, for the
// times of a survival task) have enough values, and looks for rows that two sites have. It adds suspicions to the reports,
// which must be for the same recipe. names has the name of each table.
func Among(all []*Report, names []string) {
	for i, p := range all {
		for j, other := range all[:i] {
			p.repeatedAt(other, names[j])
		}
		for k := range p.Columns {
			var medians []float64
			wide := 0.0
			for j, other := range all {
				if v := other.Columns[k].values; j != i && len(v) >= fewest {
					medians, wide = append(medians, quantile(v, 0.5)), max(wide, spread(v))
				}
			}
			if slices.Sort(medians); k == p.time {
				if len(medians) > 0 {
					p.unit(&p.Columns[k], quantile(medians, 0.5))
				}
				continue
			}
			codedAmong(all, i, k)
			if len(medians) >= 2 {
				p.Columns[k].Mean, p.Columns[k].Std = quantile(medians, 0.5), wide
			}
		}
		p.compare()
	}
}

// column describes column c of the file. Its numbers or, for a column of categories, the zeros and ones of its first
// category are at index "at" of each row of d.
func column(c task.Column, d *task.Data, at int) Column {
	out, counts := Column{Name: c.Name}, make([]int, len(c.Categories))
	for i := range d.Len() {
		v := d.Value(i, at)
		if v != v {
			out.Missing++
			continue
		}
		for k := range counts {
			counts[k] += int(d.Value(i, at+k))
		}
		if c.Categories == nil {
			out.values = append(out.values, v)
		}
	}
	for k, n := range counts {
		if n > 0 {
			out.Categories = append(out.Categories, Count{c.Categories[k], n})
		}
	}
	out.describe()
	return out
}

// describe sorts the values and sets their range and median.
func (c *Column) describe() {
	if slices.Sort(c.values); len(c.values) > 0 {
		c.Low, c.Median, c.High = c.values[0], quantile(c.values, 0.5), c.values[len(c.values)-1]
	}
}

func (p *Report) add(kind, column string, count int, example, format string, args ...any) {
	p.Suspicions = append(p.Suspicions, Suspicion{kind, column, count, example, fmt.Sprintf(format, args...)})
}

// sentinels looks for smallest or largest numbers that occur repeatedly and are far from all other numbers, and removes them
// from the column's values. If marked is true, it considers only numbers with which programs mark missing values.
func (p *Report) sentinels(c *Column, marked bool) {
	for len(c.values) >= fewest && c.values[0] < c.values[len(c.values)-1] {
		v := c.values
		low, _ := slices.BinarySearch(v, math.Nextafter(v[0], math.Inf(1)))
		high, _ := slices.BinarySearch(v, v[len(v)-1])
		at, count, rest := v[0], low, v[low:]
		if !isSentinel(at, count, rest) {
			at, count, rest = v[len(v)-1], len(v)-high, v[:high]
		}
		if !isSentinel(at, count, rest) || marked && !marker(at) {
			break
		}
		c.values = rest
		p.add(Sentinel, c.Name, count, short(at), "%d of %d values are %s, far from all others (%s to %s)", count, p.Rows-c.Missing, short(at),
			short(rest[0]), short(rest[len(rest)-1]))
	}
}

// alone checks a column without comparing it with expected values: for sentinels, for a group of numbers far from the
// others, and whether all remaining values are equal.
func (p *Report) alone(c *Column) {
	present := p.Rows - c.Missing
	p.sentinels(c, false)
	p.group(c)
	same := ""
	if n := len(c.values); n > 0 && c.values[0] == c.values[n-1] {
		same = short(c.values[0])
	} else if len(c.Categories) == 1 {
		same = c.Categories[0].Value
	}
	if same != "" && present >= fewest && c.unknown == 0 {
		expected := ""
		if c.isFar() {
			expected = ", expected " + c.expected()
		}
		p.add(Constant, c.Name, present, same, "all of its %d values are %.40s%s", present, same, expected)
		c.values = nil
	}
}

// group checks whether fewer than half of the numbers lie far from all others: for instance years of birth among ages,
// numbers in another unit, without their decimal point or with a wrong sign, or the sum of the column. The gap must be
// wider than the range of the others. If it has few numbers, which may be a long tail, their ratio must be larger, too.
func (p *Report) group(c *Column) {
	v, at := c.values, 1
	if len(v) < 2*fewest {
		return
	}
	for i := range v[1:] {
		if v[i+1]-v[i] > v[at]-v[at-1] {
			at = i + 1
		}
	}
	few, rest, gap := v[at:], v[:at], v[at]-v[at-1]
	if len(few) > len(rest) {
		few, rest = rest, few
	}
	low, high, many := rest[0], rest[len(rest)-1], len(few) >= 5 && 20*len(few) >= len(v)
	if v[0] <= 0 && low <= 0 {
		gap /= apart
	}
	if gap > high-low && (many || v[0] <= 0 || v[at]*low > v[at-1]*high) && len(slices.Compact(slices.Clone(rest))) >= fewest {
		p.add(Far, c.Name, len(few), exact(few[0]), "%d of %d values, such as %s, are far from all others (%s to %s)", len(few), len(v), exact(few[0]),
			short(low), short(high))
	}
}

// isSentinel reports whether a number ("at"), the smallest or largest of a column, is a sentinel. The number occurs
// count times; "rest" has the other values of the column, sorted. The gap between the number and the other values must
// be wider than all gaps within "rest", except the gaps next to a few outliers.
func isSentinel(at float64, count int, rest []float64) bool {
	if count < repeated && !marker(at) || len(rest) < fewest || rest[0] == rest[len(rest)-1] {
		return false
	}
	widest, few := 0.0, 1+len(rest)/50
	for i := few; i+1 < len(rest)-few; i++ {
		widest = max(widest, rest[i+1]-rest[i])
	}
	s, gap := spread(rest), min(math.Abs(at-rest[0]), math.Abs(at-rest[len(rest)-1]))
	if gap == 1 && !slices.ContainsFunc(rest, func(x float64) bool { return x != math.Trunc(x) }) {
		return false // the next whole number, as in a code
	}
	return gap > s && gap > widest && math.Abs(at-quantile(rest, 0.5)) > apart*s
}

// off returns the distance of a value from the expected mean, in expected standard deviations, or 0 if the column has
// no expected values.
func (c *Column) off(x float64) float64 {
	if c.Std == 0 {
		return 0
	}
	return math.Abs(x-c.Mean) / c.Std
}

func (c *Column) isFar() bool { return len(c.values) >= fewest && c.off(quantile(c.values, 0.5)) > far }

func (c *Column) expected() string { return short(c.Mean) + " ± " + short(c.Std) }

// compare checks the columns that are far from the expected values. Two such columns may be swapped. A column may have
// a wrong unit if multiplying it by a single factor yields both the expected mean and the expected spread.
func (p *Report) compare() {
	swapped := map[string]bool{}
	for i := range p.Columns {
		a := &p.Columns[i]
		if swapped[a.Name] || !a.isFar() {
			continue
		}
		n, m := len(a.values), quantile(a.values, 0.5)
		if b := p.partner(a, m); b != nil {
			swapped[b.Name] = true
			p.add(Swapped, a.Name, n, short(m), "its %d values are about %s, those of %q about %s: the columns may be swapped (expected %s and %s)",
				n, short(m), b.Name, short(quantile(b.values, 0.5)), a.expected(), b.expected())
			continue
		}
		factor := a.Mean / m
		wide, size, by := spread(a.values)*math.Abs(factor)/a.Std, max(factor, 1/factor), "smaller"
		if factor < 1 {
			by = "larger"
		}
		kind, text := Far, ""
		if factor > 0 && size > 2 && !math.IsInf(size, 0) && wide > 0.25 && wide < 4 {
			kind, text = Unit, fmt.Sprintf(": about %s times %s, so the unit may differ", short(size), by)
		}
		p.add(kind, a.Name, n, short(m), "its values are about %s, expected %s%s", short(m), a.expected(), text)
	}
}

// partner returns the column that may be swapped with c, or nil if there is none: the median of each of the two columns
// is near the expected mean of the other column. m is the median of c.
func (p *Report) partner(c *Column, m float64) (best *Column) {
	least := float64(far)
	for i := range p.Columns {
		o := &p.Columns[i]
		if o == c || o.Std == 0 || len(o.values) < fewest {
			continue
		}
		median := quantile(o.values, 0.5)
		a, b := o.off(m), c.off(median)
		if a < close && b < close && a+b < least && o.off(median) > close {
			best, least = o, a+b
		}
	}
	return best
}

// Strange returns one suspicion for each column in which at least one value in a thousand is far from the data that the
// recipe was fitted on. For rows with such values the model's predictions are guesses. The example in a suspicion is
// the first such value, with the number of its row, counted from 1.
func Strange(r *task.Recipe, d *task.Data) (found []Suspicion) {
	p, at := Report{}, 0
	for _, c := range r.Columns {
		if s := r.Standardize; s != nil && c.Categories == nil {
			e, count, example := Column{Mean: s.Mean[at], Std: s.Std[at]}, 0, ""
			for i := range d.Len() {
				if x := d.Value(i, at); e.off(x) > strange { // false for a missing value, NaN
					if count++; count == 1 {
						example = fmt.Sprintf("%s in row %d", short(x), i+1)
					}
				}
			}
			if count > 0 && count*1000 >= d.Len() {
				p.add(Far, c.Name, count, example, "%d of %d values far from the data that the model was fitted on, %s, such as %s", count, d.Len(), e.expected(), example)
			}
		}
		at += max(1, len(c.Categories))
	}
	return p.Suspicions
}

// quantile returns a quantile of sorted values, interpolated if necessary.
func quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	below := sorted[int(at)]
	return below + float64((sorted[min(int(at)+1, len(sorted)-1)]-below)*(at-math.Floor(at)))
}

// spread returns the standard deviation of sorted values or, if it is larger, the standard deviation of a normal
// variable with the same quartiles.
func spread(sorted []float64) float64 {
	mean, square := 0.0, 0.0
	for _, x := range sorted {
		mean += x / float64(len(sorted))
	}
	for _, x := range sorted {
		square += float64((x-mean)*(x-mean)) / float64(len(sorted))
	}
	return max(math.Sqrt(square), (quantile(sorted, 0.75)-quantile(sorted, 0.25))/1.349)
}

func short(x float64) string { return strconv.FormatFloat(x, 'g', 4, 64) }
