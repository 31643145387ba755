package task

import (
	"math"

	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// linear is a linear classifier, the last layer of every built-in model. It has one row of dim weights for each class
// or, for two classes, a single row: the weights of class 1 minus the weights of class 0.
type linear struct{ classes, dim int }

func (l linear) parameters() int {
	if l.classes == 2 {
		return l.dim
	}
	return l.classes * l.dim
}

// loss returns the squared probability loss of weights w at the input a of a sample of the given class, in [0, 1].
func (l linear) loss(w, a []float32, class int) float64 {
	if l.classes == 2 {
		z := vec.Dot(w, a)
		if class == 1 {
			z = -z
		}
		wrong := vec.Sigmoid(z) // the probability of the class to which the sample does not belong
		return float64(wrong * wrong)
	}
	// With e_k = exp(z_k - m), where m is the largest logit so far, the loss is 1/2 ((sum_others e)² + sum_others e²) /
	// (e_class + sum_others e)². The formula subtracts no nearly equal numbers, so it keeps its precision.
	m := l.logit(w, a, class)
	own, others, squares := 1.0, 0.0, 0.0
	for k := range l.classes {
		if k == class {
			continue
		}
		z := l.logit(w, a, k)
		if z > m {
			r := vec.Exp(m - z)
			own, others, squares = float64(own*r), float64(others*r), float64(squares*float64(r*r))
			m = z
		}
		e := vec.Exp(z - m)
		others += e
		squares += float64(e * e)
	}
	total := own + others
	wrong := others / total
	return min(1, 0.5*(float64(wrong*wrong)+squares/float64(total*total)))
}

// logit returns the product of a with the weights of a class, limited to finite numbers so that two overflows compare
// equal.
func (l linear) logit(w, a []float32, class int) float64 {
	const large = math.MaxFloat32
	return min(max(vec.Dot(w[class*len(a):(class+1)*len(a)], a), -large), large)
}

// predict returns the most probable class of a sample, or -1 if a logit is NaN.
func (l linear) predict(w, a []float32) int {
	if l.classes == 2 {
		return sideOf(vec.Dot(w, a))
	}
	best, at := math.Inf(-1), -1
	for k := range l.classes {
		z := l.logit(w, a, k)
		if math.IsNaN(z) {
			return -1
		}
		if z > best {
			best, at = z, k
		}
	}
	return at
}

// sideOf returns the more probable of two classes, or -1 for a NaN. z is the log odds of class 1.
func sideOf(z float64) int {
	switch {
	case z > 0:
		return 1
	case z <= 0:
		return 0
	}
	return -1
}

func softmax(z []float64) {
	top, sum := math.Inf(-1), 0.0
	for _, v := range z {
		top = max(top, v)
	}
	for k, v := range z {
		z[k] = vec.Exp(v - top)
		sum += z[k]
	}
	for k := range z {
		z[k] /= sum
	}
}
