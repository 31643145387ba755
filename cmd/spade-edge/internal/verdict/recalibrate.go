package verdict

import (
	"fmt"
	"math"
	"slices"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task"
	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// Recalibration corrects the answers of one shared model at one site. It is fitted to the site's training rows without
// any protection, so it must stay on the device.
//
// For classes the corrected probabilities are softmax(Slope log p + Intercepts): for two classes logistic recalibration
// (Cox 1958), for more a temperature of 1/Slope and a bias for each class (Guo et al. 2017). For a target the corrected
// number is Slope times the number plus the one intercept. For survival, surviving an interval and having the event in it
// are two classes, with the same correction in all intervals: a site has too few events for one in each.
type Recalibration struct {
	Fleet      string    `json:"fleet"` // hash of the fleet, in hexadecimal digits
	Name       string    `json:"name"`
	Model      string    `json:"model_sha256"`
	Rows       int       `json:"rows"`       // training rows that it was fitted to
	Slope      float64   `json:"slope"`      // above 0; 1 changes nothing
	Intercepts []float64 `json:"intercepts"` // one for each class, with sum 0; or one, in the unit of the target
}

const (
	leastShare = 1e-15 // smaller probabilities count as this one
	// weak is the inverse of the variance of the normal prior for the slope around 1 and for the difference of two
	// intercepts around 0. It keeps both finite if the classes are separated or the rows have a single class.
	weak = 0.1
	firm = 1e6 // in its place for the slope if the rows have a single class, which says nothing about the slope
)

// Apply returns the corrected answer, see [Recalibration]. said has the probabilities of all classes, or one number.
func (r *Recalibration) Apply(said []float64) []float64 {
	if len(r.Intercepts) == 1 {
		return []float64{float64(r.Slope*said[0]) + r.Intercepts[0]}
	}
	p, _ := r.corrected(logs(said))
	return p
}

// Survival returns the corrected probabilities of surviving each finite interval.
func (r *Recalibration) Survival(curve []float64) (corrected []float64) {
	s := 1.0
	for _, p := range stays(curve) {
		s = float64(s * r.Apply(p)[0])
		corrected = append(corrected, s)
	}
	return corrected
}

// stays returns, for each finite interval, the probabilities of surviving it and of having the event in it, if the
// intervals before were survived.
func stays(curve []float64) (all [][]float64) {
	before := 1.0
	for _, s := range curve {
		stay := s / max(before, leastShare)
		all, before = append(all, []float64{stay, 1 - stay}), s
	}
	return all
}

// lived returns the answers of stays for the intervals that show something of each row, and whether it had the event (1)
// or not (0).
func lived(curves [][]float64, d *task.Data) (said [][]float64, is []int) {
	cuts := d.Horizon.Cuts()
	for i, curve := range curves {
		l := cuts.Life(d.Time[i], d.Y[i])
		n := min(int(l.Survived), len(curve))
		part := stays(curve)[:min(n+int(l.Event), len(curve))]
		said = append(said, part...)
		is = append(is, make([]int, len(part))...)
		if len(part) > n {
			is[len(is)-1] = 1
		}
	}
	return said, is
}

// corrected returns the corrected probabilities of a row whose probabilities have the logarithms l, and the logarithm of
// the sum by which they were divided, plus the largest term.
func (r *Recalibration) corrected(l []float64) (p []float64, scale float64) {
	top, sum := math.Inf(-1), 0.0
	for k, v := range l {
		p = append(p, float64(r.Slope*v)+r.Intercepts[k])
		top = max(top, p[k])
	}
	for k, z := range p {
		p[k] = vec.Exp(z - top)
		sum += p[k]
	}
	for k := range p {
		p[k] /= sum
	}
	return p, top + vec.Log(sum)
}

func logs(p []float64) (l []float64) {
	for _, v := range p {
		l = append(l, vec.Log(max(v, leastShare)))
	}
	return l
}

// fit fits r to the answers said and the rows d, which are not empty.
func (r *Recalibration) fit(said [][]float64, d *task.Data) error {
	switch {
	case d.Target != nil:
		r.fitNumbers(said, d.Target)
	case d.Horizon != nil:
		pairs, is := lived(said, d)
		if len(pairs) == 0 {
			return fmt.Errorf("none of the %d training rows was observed for half of the first interval", len(said))
		}
		r.fitClasses(pairs, is)
	default:
		r.fitClasses(said, d.Y)
	}
	if !(r.Slope > 0) {
		return fmt.Errorf("the slope is %.3g, want more than 0: the model ranks the %d training rows of this site the wrong way round, and a "+
			"recalibration would only hide that; check labels and columns, or use a model of own rows", r.Slope, len(said))
	}
	return nil
}

// fitClasses maximizes the likelihood with the prior of weak, which has one maximum, by Newton's method. It halves steps
// that do not improve.
func (r *Recalibration) fitClasses(said [][]float64, is []int) {
	l := make([][]float64, len(said))
	for i, p := range said {
		l[i] = logs(p)
	}
	r.Slope, r.Intercepts = 1, make([]float64, len(said[0]))
	precision := weak
	if !slices.ContainsFunc(is, func(k int) bool { return k != is[0] }) {
		precision = firm
	}
	loss, gradient, hessian := r.slopes(l, is, precision)
	for improved, tries := true, 0; improved && tries < 100; tries++ {
		step := solve(hessian, gradient)
		improved = false
		for size := 1.0; size > 1e-9 && !improved; size /= 2 {
			next := &Recalibration{Slope: r.Slope - float64(size*step[len(step)-1])}
			for k, b := range r.Intercepts {
				next.Intercepts = append(next.Intercepts, b-float64(size*step[k]))
			}
			value, g, h := next.slopes(l, is, precision)
			if improved = value < loss; improved {
				loss, gradient, hessian = value, g, h
				r.Slope, r.Intercepts = next.Slope, next.Intercepts
			}
		}
	}
}

// slopes returns the negative logarithm of the posterior at r, its gradient and its Hessian. The coordinates are the
// intercepts, then the slope, whose prior has the given precision.
func (r *Recalibration) slopes(l [][]float64, is []int, precision float64) (loss float64, gradient []float64, hessian [][]float64) {
	last := len(r.Intercepts)
	gradient = make([]float64, last+1)
	for k := range last + 1 {
		hessian = append(hessian, make([]float64, last+1))
		lambda, off := precision, r.Slope-1
		if k < last {
			lambda, off = 2*weak, r.Intercepts[k] // so the difference of two intercepts has the precision weak
		}
		loss += float64(lambda / 2 * float64(off*off))
		gradient[k], hessian[k][k] = lambda*off, lambda
	}
	for i, row := range l {
		p, scale := r.corrected(row)
		loss += scale - float64(r.Slope*row[is[i]]) - r.Intercepts[is[i]]
		mean := 0.0
		for k, v := range p {
			mean += float64(v * row[k])
			gradient[k] += v
		}
		gradient[is[i]]--
		gradient[last] += mean - row[is[i]]
		for k, v := range p {
			off := row[k] - mean
			mixed := float64(v * off)
			for j, w := range p {
				hessian[k][j] -= float64(v * w)
			}
			hessian[k][k] += v
			hessian[k][last] += mixed
			hessian[last][k] += mixed
			hessian[last][last] += float64(mixed * off)
		}
	}
	return loss, gradient, hessian
}

// solve returns the solution x of a x = b for a positive definite matrix a, by Gaussian elimination. It overwrites both.
func solve(a [][]float64, b []float64) []float64 {
	for k, pivot := range a {
		for i := k + 1; i < len(a); i++ {
			f := a[i][k] / pivot[k]
			for j := k; j < len(a); j++ {
				a[i][j] -= float64(f * pivot[j])
			}
			b[i] -= float64(f * b[k])
		}
	}
	for k, row := range slices.Backward(a) {
		for j := k + 1; j < len(a); j++ {
			b[k] -= float64(row[j] * b[j])
		}
		b[k] /= row[k]
	}
	return b
}

// fitNumbers is least squares with the prior of weak for the slope, for noise with the variance of the model's errors. If
// all predictions are equal, the slope stays 1.
func (r *Recalibration) fitNumbers(said [][]float64, is []float64) {
	n, mean, off, square, both, noise := float64(len(is)), 0.0, 0.0, 0.0, 0.0, 0.0
	for i, y := range is {
		mean += said[i][0] / n
		off += (y - said[i][0]) / n
	}
	for i, y := range is {
		x, e := said[i][0]-mean, y-said[i][0]-off
		square += float64(x * x)
		both += float64(x * e)
		noise += float64(e*e) / n
	}
	r.Slope = 1
	if unit := square + float64(weak*noise); square > 0 {
		r.Slope += both / unit
	}
	r.Intercepts = []float64{off - float64((r.Slope-1)*mean)}
}
