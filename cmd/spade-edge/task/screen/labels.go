package screen

import (
	"math"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task"
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

const (
	shuffles  = 499
	chance    = 15   // labels are suspicious if at least this many shuffles (3 %) relate to the columns as strongly
	mostRows  = 5000 // maximum number of rows used; if there are more, this many evenly spaced rows are used
	mostWide  = 1000 // maximum number of columns; the labels of wider data are not judged
	leastRare = 8    // minimum number of rows in the class, and outside the class, for which labels are judged
)

// Relation is the result of a permutation test: are the columns more strongly related to the true labels than to
// shuffled labels? The labels say whether a row belongs to the most frequent class or, for a target, to the half of its
// range with more samples. The statistic is the sum of squared correlations (Goeman et al., "A global test for groups
// of genes", 2004). The test detects shuffled labels in 97 of 100 cases, whatever the data. It also raises a suspicion
// about correct labels that are almost unrelated to the columns.
type Relation struct {
	Class    string `json:"class"`
	Rare     int    `json:"rare"`     // number of rows in Class or outside Class, whichever is smaller
	Shuffles int    `json:"shuffles"` // number of shuffles; 0 if there was no test
	AsGood   int    `json:"as_good"`  // number of shuffles that relate to the columns as strongly as the labels
}

// Chance reports whether the relation may be due to chance, which means that the labels may have been shuffled.
func (r *Relation) Chance() bool { return r.AsGood >= chance }

// Related measures how strongly the columns and the label are related, and adds a suspicion to p if the relation may be
// due to chance. It uses one row per person. It returns nil if the data has more than 1000 columns.
func (p *Report) Related(r *task.Recipe, d *task.Data) *Relation {
	if d.Dim > mostWide {
		return nil
	}
	top, counts := 0, classes(d)
	for c, n := range counts {
		if n > counts[top] || r.Survival != nil { // of a survival task, the event
			top = c
		}
	}
	x, y := rows(d, top)
	rel := &Relation{Class: d.ClassNames[top]}
	for _, is := range y {
		rel.Rare += is
	}
	if rel.Rare = min(rel.Rare, len(y)-rel.Rare); rel.Rare < leastRare {
		return rel
	}
	own, s := explained(x, y), rng.New(1, rng.Address{Purpose: rng.Partition})
	rel.Shuffles = shuffles
	for range shuffles {
		s.Shuffle(len(y), func(i, j int) { y[i], y[j] = y[j], y[i] })
		if !(explained(x, y) < own) {
			rel.AsGood++
		}
	}
	if rel.Chance() {
		p.add(Labels, r.Label, d.Len(), rel.Class, "the other columns predict %.40q hardly better than they predict shuffled labels (%d of "+
			"%d shuffles do as well): labels are in the wrong rows, or are unrelated to the columns", rel.Class, rel.AsGood, rel.Shuffles)
	}
	return rel
}

// rows returns the columns, standardized and with missing cells at the mean. y is 1 for rows of the class and 0 for all
// other rows.
func rows(d *task.Data, class int) (x [][]float64, y []int) {
	mean, sd := make([]float64, d.Dim), make([]float64, d.Dim)
	for j := range mean {
		n := 0.0
		for i := range d.Len() {
			if v := d.Value(i, j); v == v {
				mean[j] += v
				n++
			}
		}
		mean[j] /= max(1, n)
		for i := range d.Len() {
			if v := d.Value(i, j) - mean[j]; v == v {
				sd[j] += float64(v * v)
			}
		}
		sd[j] = math.Sqrt(sd[j] / max(1, n))
	}
	step := max(1, (d.Len()+mostRows-1)/mostRows)
	seen := map[int]bool{}
	for i := 0; i < d.Len(); i += step {
		if d.Person != nil && seen[d.Person[i]] {
			continue
		} else if d.Person != nil {
			seen[d.Person[i]] = true
		}
		row := make([]float64, d.Dim)
		for j := range row {
			if v := d.Value(i, j); v == v && sd[j] > 0 {
				row[j] = (v - mean[j]) / sd[j]
			}
		}
		is := 0
		if d.Y[i] == class {
			is = 1
		}
		x, y = append(x, row), append(y, is)
	}
	return x, y
}

// explained returns the sum of squared products of the columns with the centered labels.
func explained(x [][]float64, y []int) (sum float64) {
	products, mean := make([]float64, len(x[0])), 0.0
	for _, is := range y {
		mean += float64(is) / float64(len(y))
	}
	for i, row := range x {
		off := float64(y[i]) - mean
		for j, v := range row {
			products[j] += float64(v * off)
		}
	}
	for _, p := range products {
		sum += float64(p * p)
	}
	return sum
}

// classes counts the rows of each class.
func classes(d *task.Data) []int {
	counts := make([]int, d.Classes)
	for _, y := range d.Y {
		counts[y]++
	}
	return counts
}
