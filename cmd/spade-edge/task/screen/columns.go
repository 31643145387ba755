package screen

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task/cell"
)

// counts checks whether a column of whole numbers goes up or down row by row, in nearly all rows by the same step. Such
// a column numbers the rows: if the file is sorted by the label, it gives the label away.
func (p *Report) counts(c *Column, d *task.Data, at int) {
	var steps []float64
	for i := 1; i < d.Len(); i++ {
		steps = append(steps, d.Value(i, at)-d.Value(i-1, at))
	}
	if len(steps) < fewest || c.Missing > 0 {
		return
	}
	slices.Sort(steps)
	step, same := quantile(steps, 0.5), 0
	for _, s := range steps {
		if s == step {
			same++
		}
	}
	if step == math.Trunc(step) && steps[0]*steps[len(steps)-1] > 0 && 10*same >= 9*len(steps) {
		p.add(Counter, c.Name, p.Rows, exact(d.Value(0, at)), "it counts row by row (%s, %s, %s, ...), so it is probably a row number, an identifier or a time",
			exact(d.Value(0, at)), exact(d.Value(1, at)), exact(d.Value(2, at)))
	}
}

// tells checks whether a column alone tells the class of all rows that have a value: each category has rows of a single
// class, or the numbers of the two classes do not overlap. Such a column may be another form of the label.
func (p *Report) tells(c task.Column, d *task.Data, at int) {
	width := len(c.Categories)
	rows, of := make([]int, d.Classes), map[int]int{} // the class of each category
	low, high := [2]float64{math.Inf(1), math.Inf(1)}, [2]float64{math.Inf(-1), math.Inf(-1)}
	if d.Target != nil || width == 0 && d.Classes != 2 {
		return
	}
	for i, y := range d.Y {
		v := d.Value(i, at)
		if v != v {
			continue
		}
		rows[y]++
		if width == 0 {
			low[y], high[y] = min(low[y], v), max(high[y], v)
		}
		for k := range width {
			if d.Value(i, at+k) == 0 {
				continue
			}
			if class, seen := of[k]; seen && class != y {
				return
			}
			of[k] = y
		}
	}
	slices.Sort(rows)
	n := 0
	for _, r := range rows {
		n += r
	}
	if slices.Contains(rows, 0) || n-rows[len(rows)-1] < leastRare || 10*n < 9*p.Rows || 4*len(of) > n {
		return
	}
	if width == 0 && !(high[0] < low[1] || high[1] < low[0]) {
		return
	}
	p.add(Tells, c.Name, n, "", "it alone tells the class in all of %d rows", n)
}

func exact(x float64) string { return fmt.Sprintf("%.15g", x) }

// lost checks whether values that differ in the file are the same number for the model. s is nil if the recipe does not
// standardize.
func (p *Report) lost(c *Column, s *task.Standardizer, at int) {
	scaled := func(x float64) float32 {
		if s != nil && s.Std[at] > 0 {
			return float32((x - s.Mean[at]) / s.Std[at])
		}
		return float32(x)
	}
	distinct := slices.Compact(slices.Clone(c.values))
	same, example := 0, ""
	for i, x := range distinct[:max(0, len(distinct)-1)] {
		if next := distinct[i+1]; scaled(x) == scaled(next) {
			same, example = same+1, exact(x)+" and "+exact(next)
		}
	}
	if 100*same > len(distinct) {
		p.add(Digits, c.Name, same, example, "%d of its %d different values are the same number for the model, such as %s", same, len(distinct), example)
	}
}

// codings has pairs of numbers that commonly stand for no and yes.
var codings = [][2]float64{{0, 1}, {1, 2}, {-1, 1}}

// coded checks whether a column with two values uses another pair of numbers than the expected column.
func (p *Report) coded(c *Column) {
	if c.Std == 0 {
		return
	}
	for _, pair := range codings {
		if square := (c.Mean - pair[0]) * (pair[1] - c.Mean); square > 0 && math.Abs(square/(c.Std*c.Std)-1) < 1e-9 {
			p.otherPair(c, pair, "where the task was fitted")
			return
		}
	}
}

func (p *Report) otherPair(c *Column, pair [2]float64, where string) {
	if n := len(c.values); n >= fewest && c.pair != nil && (!slices.Contains(pair[:], c.pair[0]) || !slices.Contains(pair[:], c.pair[1])) {
		p.add(Coding, c.Name, n, short(c.pair[1]), "its two values are %s and %s here, but %s and %s %s", short(c.pair[0]), short(c.pair[1]),
			short(pair[0]), short(pair[1]), where)
	}
}

// pairOf returns the values of a sorted list if there are exactly two.
func pairOf(sorted []float64) []float64 {
	if distinct := slices.Compact(slices.Clone(sorted)); len(distinct) == 2 {
		return distinct
	}
	return nil
}

// codedAmong compares the two values of a column at a site with those at all other sites, which must agree.
func codedAmong(all []*Report, i, column int) {
	var pair []float64
	for j, other := range all {
		if j == i {
			continue
		}
		if o := other.Columns[column].pair; o == nil || pair != nil && !slices.Equal(o, pair) {
			return
		} else {
			pair = o
		}
	}
	if pair != nil {
		all[i].otherPair(&all[i].Columns[column], [2]float64(pair), "in the other files")
	}
}

// repeats counts rows that repeat an earlier row of the same person. Rows of tables with few possible rows are expected
// to repeat.
func (p *Report) repeats(d *task.Data) {
	possible := 0.0 // decimal digits of the number of possible rows
	for _, c := range p.Columns {
		possible += math.Log10(float64(max(1, len(c.Categories), len(slices.Compact(slices.Clone(c.values))))))
	}
	if possible < 2+math.Log10(float64(max(1, p.Rows))) {
		return
	}
	seen := map[string]bool{}
	var key strings.Builder
	repeated, first := 0, 0
	for i := range d.Len() {
		key.Reset()
		fmt.Fprint(&key, d.Y[i])
		if d.Person != nil {
			fmt.Fprint(&key, " ", d.Person[i])
		}
		if d.Time != nil {
			fmt.Fprint(&key, " ", d.Time[i])
		}
		for j := range d.Dim {
			fmt.Fprintf(&key, " %x", math.Float64bits(d.Value(i, j)))
		}
		if seen[key.String()] {
			if repeated++; repeated == 1 {
				first = i + 1
			}
		}
		seen[key.String()] = true
	}
	if repeated >= repeatedRows && 20*repeated >= p.Rows {
		p.add(Repeated, "", repeated, fmt.Sprint(first), "%d of %d rows repeat an earlier row, the first of them row %d", repeated, p.Rows, first)
	}
}

const repeatedRows = 3 // minimum number of repeated rows that are reported

// marker reports whether a number is one with which programs mark missing values.
func marker(x float64) bool {
	return slices.Contains([]float64{9, 99, 999, 9999, 99999, 999999, 88, 888, 8888, 77, 777, 7777, 1e6, 1e9}, math.Abs(x)) || x == -1
}

// Near adds suspicions about classes and categories of a recipe, fitted on several tables, that differ only in case,
// spaces or dots at the end, and about a table that shares none of its names with another. names has the name of each table.
func Near(r *task.Recipe, all []*Report, names []string) {
	check := func(column string, values []string, list func(*Report) []Count) {
		has := func(p *Report, value string) (rows int) {
			for _, c := range list(p) {
				if c.Value == value {
					rows = c.Rows
				}
			}
			return rows
		}
		groups := map[string][]string{}
		for _, v := range values {
			groups[cell.Near(v)] = append(groups[cell.Near(v)], v)
		}
		for _, p := range all {
			own := slices.DeleteFunc(slices.Clone(values), func(v string) bool { return has(p, v) == 0 })
			shared := func(o *Report) bool {
				return o != p && slices.ContainsFunc(own, func(v string) bool { return has(o, v) > 0 })
			}
			if len(all) > 1 && len(own) > 1 && !slices.ContainsFunc(all, shared) {
				p.add(NearNames, column, len(own), own[0], "none of its %d names, such as %.40q, occurs in another file", len(own), own[0])
			}
		}
		for _, key := range slices.Sorted(maps.Keys(groups)) {
			if len(groups[key]) < 2 {
				continue
			}
			var found []string
			var last *Report
			for _, v := range groups[key] {
				for i, p := range all {
					if n := has(p, v); n > 0 {
						found, last = append(found, fmt.Sprintf("%.40q (%d rows of %s)", v, n, names[i])), p
					}
				}
			}
			if len(found) > 1 {
				last.add(NearNames, column, len(found), groups[key][0], "the names %s differ only in case, spaces or dots, and count as different",
					strings.Join(found, ", "))
			}
		}
	}
	check(r.Label, r.Classes, func(p *Report) []Count { return p.Classes })
	for k, c := range r.Columns {
		check(c.Name, c.Categories, func(p *Report) []Count { return p.Columns[k].Categories })
	}
}
