package screen

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task"
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

// tells checks whether a column alone tells the class of nearly all rows that have a value: nearly all rows of a category
// are of a single class, or a limit divides the numbers of two classes. Such a column may be another form of the label.
// tells also checks whether nearly all rows that have a value are of one class, and nearly all others of another.
func (p *Report) tells(c task.Column, d *task.Data, at int) {
	if d.Target != nil || c.Categories == nil && d.Classes != 2 {
		return
	}
	rows, blank, of := make([]int, d.Classes), make([]int, d.Classes), map[float64][]int{} // rows of each class: with a value, without, for each value
	for i, y := range d.Y {
		v := d.Value(i, at)
		if v != v {
			blank[y]++
			continue
		}
		for k := range c.Categories {
			if d.Value(i, at+k) != 0 {
				v = float64(k)
			}
		}
		if of[v] == nil {
			of[v] = make([]int, d.Classes)
		}
		of[v][y]++
		rows[y]++
	}
	n, gone, most := 0, 0, 0 // rows with a value, rows without, and rows of the most frequent class
	for y, r := range rows {
		n, gone, most = n+r, gone+blank[y], max(most, r+blank[y])
	}
	if wrong := n + gone - slices.Max(rows) - slices.Max(blank); n > 0 && gone > 0 && n+gone-most >= leastRare && 20*wrong <= n+gone-most {
		p.add(Tells, c.Name, n+gone-wrong, "", "whether it has a value tells the class in %d of %d rows", n+gone-wrong, n+gone)
	}
	wrong, below := n, make([]int, d.Classes)
	if c.Categories != nil {
		for _, r := range of {
			wrong -= slices.Max(r)
		}
	} else {
		for _, v := range slices.Sorted(maps.Keys(of)) {
			below[0], below[1] = below[0]+of[v][0], below[1]+of[v][1]
			high := below[0] + rows[1] - below[1] // rows that the limit puts right if the numbers of class 1 are above it
			wrong = min(wrong, n-high, high)
		}
	}
	rare := n - slices.Max(rows)
	if slices.Contains(rows, 0) || rare < leastRare || 10*n < 9*p.Rows || c.Categories != nil && 4*len(of) > n || 20*wrong > rare {
		return
	}
	p.add(Tells, c.Name, n-wrong, "", "it alone tells the class in %d of %d rows", n-wrong, n)
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
	same, example := 0, ""
	for i, x := range c.each[:max(0, len(c.each)-1)] {
		if next := c.each[i+1]; scaled(x) == scaled(next) {
			same, example = same+1, exact(x)+" and "+exact(next)
		}
	}
	if 100*same > len(c.each) {
		p.add(Digits, c.Name, same, example, "%d of its %d different values are the same number for the model, such as %s", same, len(c.each), example)
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
	if n := len(c.values); n >= fewest && len(c.each) == 2 && (!slices.Contains(pair[:], c.each[0]) || !slices.Contains(pair[:], c.each[1])) {
		p.add(Coding, c.Name, n, short(c.each[1]), "its two values are %s and %s here, but %s and %s %s", short(c.each[0]), short(c.each[1]),
			short(pair[0]), short(pair[1]), where)
	}
}

// codedAmong compares the two values of a column at a site with those at all other sites, which must agree.
func codedAmong(all []*Report, i, column int) {
	var pair []float64
	for j, other := range all {
		if j == i {
			continue
		}
		o := other.Columns[column].each
		if len(o) != 2 || pair != nil && !slices.Equal(o, pair) {
			return
		}
		pair = o
	}
	if pair != nil {
		all[i].otherPair(&all[i].Columns[column], [2]float64(pair), "in the other files")
	}
}

// repeats counts rows that repeat an earlier row of the same person, and keeps all rows in p.rows. Rows of tables with few
// possible rows are expected to repeat.
func (p *Report) repeats(d *task.Data) {
	p.possible = 1
	for _, c := range p.Columns {
		p.possible *= float64(max(1, len(c.Categories), len(c.each)))
	}
	expected := float64(p.Rows) * float64(p.Rows) / 2 / p.possible
	if 20*expected > float64(p.Rows) { // more than could repeat
		return
	}
	p.rows = map[[sha256.Size]byte]bool{}
	seen := p.rows
	if d.Person != nil {
		seen = map[[sha256.Size]byte]bool{}
	}
	row := sha256.New()
	repeated, first := 0, 0
	for i := range d.Len() {
		row.Reset()
		fmt.Fprint(row, d.Y[i])
		if d.Time != nil {
			fmt.Fprint(row, " ", d.Time[i])
		}
		for j := range d.Dim {
			fmt.Fprintf(row, " %x", math.Float64bits(d.Value(i, j)))
		}
		key := [sha256.Size]byte(row.Sum(nil))
		if d.Person != nil { // of which other files have other numbers
			p.rows[key] = true
			fmt.Fprint(row, " ", d.Person[i])
			key = [sha256.Size]byte(row.Sum(nil))
		}
		if seen[key] {
			if repeated++; repeated == 1 {
				first = i + 1
			}
		}
		seen[key] = true
	}
	if repeated >= repeatedRows && 20*repeated >= p.Rows && float64(repeated) >= 20*expected {
		p.add(Repeated, "", repeated, fmt.Sprint(first), "%d of %d rows repeat an earlier row, the first of them row %d", repeated, p.Rows, first)
	}
}

// repeatedAt counts the different rows that another site has, too. Its name is given.
func (p *Report) repeatedAt(other *Report, name string) {
	same, fewer := 0, min(len(p.rows), len(other.rows))
	for row := range p.rows {
		if other.rows[row] {
			same++
		}
	}
	expected := float64(len(p.rows)) * float64(len(other.rows)) / min(p.possible, other.possible)
	if same >= repeatedRows && 20*same >= fewer && float64(same) >= 10*expected {
		p.add(Repeated, "", same, name, "%d of its %d different rows are also in %s", same, len(p.rows), name)
	}
}

const repeatedRows = 3 // minimum number of repeated rows that are reported

// marks reports whether the name of a class is a number with which programs mark missing values, and does not follow
// that of another class.
func marks(name string, all []string) bool {
	x, err := strconv.ParseFloat(name, 64)
	return err == nil && x != -1 && marker(x) && !slices.ContainsFunc(all, func(other string) bool {
		y, err := strconv.ParseFloat(other, 64)
		return err == nil && math.Abs(x-y) == 1
	})
}

// marker reports whether a number is one with which programs mark missing values.
func marker(x float64) bool {
	return slices.Contains([]float64{9, 99, 999, 9999, 99999, 999999, 88, 888, 8888, 77, 777, 7777, 1e6, 1e9}, math.Abs(x)) || x == -1
}
