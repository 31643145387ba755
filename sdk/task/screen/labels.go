package screen

import (
	"fmt"
	"math"

	"github.com/spade-dfl/spade-edge/sdk/task"
	"github.com/spade-dfl/spade-edge/zoest/vec"
)

const (
	folds     = 10
	mostRows  = 5000 // beyond, as many are taken, evenly
	mostWide  = 256  // columns; of wider data nothing is said
	leastRare = 8    // samples of the rarer side from which on labels are judged
	someRare  = 20   // and from which on chance hardly hides a relation
	sure      = 1.3  // times the half of a 95 % interval: about 99 %
	ridge     = 0.05 // of the number of rows, which holds weights together
)

// Relation is how well the columns tell the most frequent class, or the upper half of a target, from the rest, on rows that were not
// learned from: by ridge regression, in ten parts. Of labels that were shuffled it is 0.5, but for chance.
type Relation struct {
	Class string         `json:"class"`
	Rare  int            `json:"rare"` // samples of the rarer side; of too few nothing can be said, and AUC is nil
	AUC   *task.Estimate `json:"auc"`
}

// Related measures the relation of the columns and the label. It is nil for data that are too wide.
func (p *Report) Related(r *task.Recipe, d *task.Data) *Relation {
	if d.Dim > mostWide {
		return nil
	}
	top, counts := 0, make([]int, d.Classes)
	for _, y := range d.Y {
		counts[y]++
	}
	for c, n := range counts {
		if n > counts[top] {
			top = c
		}
	}
	rel := &Relation{Class: d.ClassNames[top], Rare: min(counts[top], d.Len()-counts[top])}
	if rel.Rare < leastRare {
		return rel
	}
	x, y, fold := rows(d, top)
	said := crossed(x, y, fold)
	m, err := task.JudgeClasses(2, y, make([]int, len(y)), said)
	if err != nil || m.Binary.AUC == nil {
		return rel // numbers too large
	}
	rel.AUC = m.Binary.AUC
	if e := rel.AUC; e.Value-float64(sure*(e.Value-e.Low)) <= 0.5 {
		few := ""
		if rel.Rare < someRare {
			few = fmt.Sprintf("; %d of the rarer class are few, and chance may hide one", rel.Rare)
		}
		p.add(Suspicion{Kind: Labels, Column: r.Label, Count: d.Len(), Of: d.Len(), Example: rel.Class, Text: fmt.Sprintf("the other columns "+
			"may tell %.40q from the rest by chance only (AUC %.2f, 95 %% interval %.2f to %.2f): labels in the wrong rows, or no relation%s",
			rel.Class, rel.AUC.Value, rel.AUC.Low, rel.AUC.High, few)})
	}
	return rel
}

// rows returns standardised columns with a one behind them, missing cells at the mean, whether a row is of a class, and its part. All
// rows of a person are in one part.
func rows(d *task.Data, class int) (x [][]float64, y, fold []int) {
	mean, sd := make([]float64, d.Dim), make([]float64, d.Dim)
	step := max(1, (d.Len()+mostRows-1)/mostRows)
	for j := range mean {
		n := 0.0
		for i := j; i < len(d.X); i += d.Dim {
			if v := float64(d.X[i]); v == v {
				mean[j] += v
				sd[j] += float64(v * v)
				n++
			}
		}
		mean[j] /= max(1, n)
		sd[j] = math.Sqrt(max(0, sd[j]/max(1, n)-float64(mean[j]*mean[j])))
	}
	next := [2]int{}
	for i := 0; i < d.Len(); i += step {
		row := make([]float64, d.Dim+1)
		for j, v := range d.Row(i) {
			if v == v && sd[j] > 0 {
				row[j] = (float64(v) - mean[j]) / sd[j]
			}
		}
		row[d.Dim] = 1
		is := 0
		if d.Y[i] == class {
			is = 1
		}
		part := next[is] % folds
		next[is]++
		if d.Person != nil {
			part = d.Person[i] % folds
		}
		x, y, fold = append(x, row), append(y, is), append(fold, part)
	}
	return x, y, fold
}

// crossed returns for each row a probability from the rows of the other parts.
func crossed(x [][]float64, y, fold []int) []float64 {
	n, dim := len(x), len(x[0])
	said := make([]float64, n)
	for part := range folds {
		a, b := make([][]float64, dim), make([]float64, dim)
		for j := range a {
			a[j] = make([]float64, dim)
			a[j][j] = ridge * float64(n)
		}
		for i, row := range x {
			if fold[i] == part {
				continue
			}
			for j, v := range row {
				if v == 0 {
					continue
				}
				b[j] += float64(v * float64(2*y[i]-1))
				for k := range j + 1 {
					a[j][k] += float64(v * row[k])
				}
			}
		}
		w := solve(a, b)
		for i, row := range x {
			if fold[i] != part {
				continue
			}
			z := 0.0
			for j, v := range row {
				z += float64(v * w[j])
			}
			said[i] = vec.Sigmoid(z)
		}
	}
	return said
}

// solve returns the solution of a positive definite system by Cholesky's method, of which the lower half is given. Both change.
func solve(a [][]float64, b []float64) []float64 {
	for j := range a {
		for i := j; i < len(a); i++ {
			sum := a[i][j]
			for k := range j {
				sum -= float64(a[i][k] * a[j][k])
			}
			if i == j {
				a[j][j] = math.Sqrt(sum)
			} else {
				a[i][j] = sum / a[j][j]
			}
		}
	}
	for i := range b {
		for k := range i {
			b[i] -= float64(a[i][k] * b[k])
		}
		b[i] /= a[i][i]
	}
	for i := len(b) - 1; i >= 0; i-- {
		for k := i + 1; k < len(b); k++ {
			b[i] -= float64(a[k][i] * b[k])
		}
		b[i] /= a[i][i]
	}
	return b
}
