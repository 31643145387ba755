package score

import (
	"math"
	"slices"

	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// Quantile is the number q for which a standard normal variable is in [-q, q] with probability 95 %.
const Quantile = 1.959963984540054

// Estimate is a figure with its 95 % confidence interval, Low to High, for independent samples. Shares have the Wilson
// interval (1927); the comments on all other figures name the kind of interval.
type Estimate struct {
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// ClassMetrics measures predicted classes. A share is in [0, 1], or nil if its denominator is zero.
type ClassMetrics struct {
	Samples   int            `json:"samples"`
	Accuracy  Estimate       `json:"accuracy"`
	Majority  float64        `json:"majority"`  // the accuracy of always predicting these samples' most frequent class
	Confusion [][]int        `json:"confusion"` // number of samples, by true class and then by predicted class
	PerClass  []ClassMetric  `json:"per_class"`
	MacroF1   float64        `json:"macro_f1"` // the mean of F1 over the classes whose F1 is not nil
	Binary    *BinaryMetrics `json:"binary,omitempty"`
}

// ClassMetric measures the predictions of one class.
type ClassMetric struct {
	Recall    *Estimate `json:"recall"`    // share of the class's samples that are predicted as this class
	Precision *Estimate `json:"precision"` // share of the samples predicted as this class that are of this class
	F1        *float64  `json:"f1"`        // harmonic mean of Recall and Precision; nil if both are nil
}

// BinaryMetrics measures predictions for two classes. Class 1 is the positive class.
type BinaryMetrics struct {
	Sensitivity *Estimate `json:"sensitivity"` // the recall of class 1
	Specificity *Estimate `json:"specificity"` // the recall of class 0
	PPV         *Estimate `json:"ppv"`         // the precision of class 1
	NPV         *Estimate `json:"npv"`         // the precision of class 0
	// AUC is the share of pairs (a sample of class 0, a sample of class 1) in which the second sample has the higher
	// probability of class 1; ties count half. The interval follows DeLong et al. (1988) on the logit scale. If their
	// estimate of the variance is 0, the interval is Wilson's, with as many trials as the rarer class has samples.
	AUC         *Estimate `json:"auc"`
	Brier       Estimate  `json:"brier"` // the mean of (p - y)²; its interval is that of a mean on the log scale
	Calibration []Tenth   `json:"calibration"`
}

// Tenth is element k of [BinaryMetrics].Calibration: the samples for which the predicted probability of class 1 is in
// [k/10, (k+1)/10). The last element also includes probability 1.
type Tenth struct {
	Samples int       `json:"samples"`
	Said    float64   `json:"said"`     // the mean predicted probability of class 1; 0 without samples
	Found   *Estimate `json:"observed"` // the share of these samples that are of class 1
}

// NumberMetrics measures predicted numbers. MeanRMSE and MeanMAE are the errors of a prediction that is always the mean
// of the true numbers; its R2 is 0. Each interval is computed on the log scale, for R2 on the log scale of 1 - R2.
type NumberMetrics struct {
	Samples  int       `json:"samples"`
	RMSE     Estimate  `json:"rmse"`
	MAE      Estimate  `json:"mae"`
	R2       *Estimate `json:"r2"` // nil if all true numbers are equal
	MeanRMSE float64   `json:"mean_rmse"`
	MeanMAE  float64   `json:"mean_mae"`
}

// Classes compares the predicted classes (said) of at least one sample with the true classes (is), for 2 or more
// classes. For two classes, probability has the probability of class 1 for each sample; otherwise it is nil.
func Classes(classes int, is, said []int, probability []float64) *ClassMetrics {
	n := len(is)
	m := &ClassMetrics{Samples: n, Confusion: make([][]int, classes)}
	for k := range m.Confusion {
		m.Confusion[k] = make([]int, classes)
	}
	rows, columns := make([]int, classes), make([]int, classes)
	right, used := 0, 0.0
	for i, k := range is {
		rows[k]++
		columns[said[i]]++
		m.Confusion[k][said[i]]++
	}
	for k := range classes {
		hits := m.Confusion[k][k]
		right += hits
		c := ClassMetric{Recall: share95(hits, rows[k]), Precision: share95(hits, columns[k])}
		if all := rows[k] + columns[k]; all > 0 {
			f1 := 2 * float64(hits) / float64(all)
			c.F1 = &f1
			m.MacroF1 += f1
			used++
		}
		m.PerClass = append(m.PerClass, c)
	}
	m.Accuracy, m.Majority = *share95(right, n), float64(slices.Max(rows))/float64(n)
	m.MacroF1 /= used
	if probability != nil {
		m.Binary = &BinaryMetrics{
			Sensitivity: m.PerClass[1].Recall, Specificity: m.PerClass[0].Recall,
			PPV: m.PerClass[1].Precision, NPV: m.PerClass[0].Precision,
		}
		m.Binary.judge(is, probability)
	}
	return m
}

func (b *BinaryMetrics) judge(is []int, probability []float64) {
	var tenths [10]struct {
		samples, ones int
		sum           float64
	}
	var scores [2][]float64
	squares := make([]float64, len(is))
	for i, p := range probability {
		t := &tenths[min(9, int(p*10))]
		t.samples++
		t.ones += is[i]
		t.sum += p
		scores[is[i]] = append(scores[is[i]], p)
		d := p - float64(is[i])
		squares[i] = float64(d * d)
	}
	for _, t := range tenths {
		b.Calibration = append(b.Calibration, Tenth{t.samples, t.sum / float64(max(1, t.samples)), share95(t.ones, t.samples)})
	}
	b.AUC, b.Brier = auc(scores[0], scores[1]), Mean(squares)
}

// auc returns the area under the ROC curve for the scores of class 0 and of class 1, or nil if a slice is empty. It
// sorts both slices.
func auc(zeros, ones []float64) *Estimate {
	if len(zeros) == 0 || len(ones) == 0 {
		return nil
	}
	slices.Sort(zeros)
	slices.Sort(ones)
	wins, v1 := placements(ones, zeros)
	_, v0 := placements(zeros, ones)
	n0, n1 := float64(len(zeros)), float64(len(ones))
	return Logit(float64(wins)/(2*n0*n1), math.Sqrt(v1/n1+v0/n0), min(len(zeros), len(ones)))
}

// Logit returns the Estimate of a share with standard error se, whose interval is on the logit scale. Where that does
// not exist, it is Wilson's for a number of trials.
func Logit(share, se float64, trials int) *Estimate {
	if trials < 2 || se == 0 || share == 0 || share == 1 {
		return wilson(share, float64(trials))
	}
	odds := vec.Exp(Quantile * se / (share * (1 - share)))
	return &Estimate{share, share / (share + float64((1-share)*odds)), share / (share + (1-share)/odds)}
}

// placements compares each score in a with each score in b; both slices are sorted. wins is twice the number of pairs
// in which the score from a is larger (a tie counts half). variance is the sample variance, over the scores in a, of
// each score's share of such pairs, or 0 if a has a single score.
func placements(a, b []float64) (wins uint64, variance float64) {
	count := make([]float64, len(a))
	below, upTo := 0, 0
	for i, x := range a {
		for below < len(b) && b[below] < x {
			below++
		}
		for upTo < len(b) && b[upTo] <= x {
			upTo++
		}
		wins += uint64(below + upTo)
		count[i] = float64(below+upTo) / float64(2*len(b))
	}
	_, sd := moments(count)
	return wins, float64(sd * sd)
}

// Numbers compares the predicted numbers (said) of at least one sample with the true numbers (is). All must be
// finite.
func Numbers(is, said []float64) *NumberMetrics {
	n := len(is)
	center, _ := moments(is)
	size, square, own, ownSize := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	for i, y := range is {
		e, d := said[i]-y, y-center
		size[i], square[i], own[i], ownSize[i] = math.Abs(e), float64(e*e), float64(d*d), math.Abs(d)
	}
	mse, mean := Mean(square), Mean(own)
	m := &NumberMetrics{
		Samples: n, MAE: Mean(size), MeanMAE: Mean(ownSize).Value, MeanRMSE: math.Sqrt(mean.Value),
		RMSE: Estimate{math.Sqrt(mse.Value), math.Sqrt(mse.Low), math.Sqrt(mse.High)},
	}
	if mean.Value > 0 {
		ratio := mse.Value / mean.Value
		for i := range square { // how much each sample changes the ratio (its linearization)
			square[i] = (square[i] - float64(ratio*own[i])) / mean.Value
		}
		_, sd := moments(square)
		left := around(ratio, sd/math.Sqrt(float64(n)))
		m.R2 = &Estimate{1 - left.Value, 1 - left.High, 1 - left.Low}
	}
	return m
}

// moments returns the mean and the sample standard deviation of x; for a single number sd is 0.
func moments(x []float64) (mean, sd float64) {
	for _, v := range x {
		mean += v
	}
	mean /= float64(len(x))
	for _, v := range x {
		d := v - mean
		sd += float64(d * d)
	}
	return mean, math.Sqrt(sd / float64(max(1, len(x)-1)))
}

// Mean returns the mean of nonnegative numbers with its interval on the log scale.
func Mean(x []float64) Estimate {
	mean, sd := moments(x)
	return around(mean, sd/math.Sqrt(float64(len(x))))
}

// around returns the Estimate of a positive figure v with standard error se. Its confidence interval is on the log
// scale.
func around(v, se float64) Estimate {
	if v <= 0 {
		return Estimate{}
	}
	f := vec.Exp(Quantile * se / v)
	return Estimate{v, v / f, float64(v * f)}
}

func share95(hits, trials int) *Estimate {
	if trials == 0 {
		return nil
	}
	return wilson(float64(hits)/float64(trials), float64(trials))
}

// wilson returns the Estimate of a share among n trials, with Wilson's score interval.
func wilson(share, n float64) *Estimate {
	const q2 = Quantile * Quantile
	center := share + q2/(2*n)
	half := float64(Quantile * math.Sqrt(float64(share*(1-share))/n+q2/(4*n*n)))
	// Rounding must not put the share outside its interval.
	return &Estimate{share, min(share, max(0, (center-half)/(1+q2/n))), max(share, min(1, (center+half)/(1+q2/n)))}
}
