package losses

import (
	"math"

	"github.com/spade-dfl/spade-edge/zoest"
)

// Trend compares the mean losses of this node's own queries in the last rounds with data. It is derived directly from
// data and stays on the device. No privacy guarantee covers Trend or a decision based on it: starting another run
// because the loss still falls reveals that the loss still falls.
//
// Trend divides the rounds into eighths. The loss is Falling if the mean of the last eighth is below the mean of the
// previous eighth by more than Spread and by more than a hundredth of the fall since the first eighth, and the mean of
// the previous eighth is also below the mean of the eighth before it.
//
// If the loss falls linearly and without noise, the mean falls by 3.5 times Spread from one eighth to the next. Of
// simulated runs of 48 rounds of pure noise, 1 in 140 counts as falling if rounds are independent, and 1 in 9 if
// successive rounds have correlation 0.9 (TestTrendOfNoise).
type Trend struct {
	Rounds  int     `json:"rounds"` // rounds with data since the process began; at least 24
	Falling bool    `json:"falling"`
	Before  float64 `json:"loss_before"` // the mean loss in the second-last eighth
	Last    float64 `json:"loss"`        // the mean loss in the last eighth
	Spread  float64 `json:"spread"`      // standard deviation of a round's mean loss within these two eighths
}

const (
	eighths    = 8
	leastTrend = 3 * eighths // in rounds; with fewer, an eighth has no meaningful spread
	mostMeans  = 512
	leastFall  = 0.01
)

// Curve stores the mean losses of rounds in bounded memory: at most 512 means. Each mean covers one round at first, and
// later two, four and more rounds. The zero value is ready to use. A Curve is not safe for concurrent use.
type Curve struct {
	means []float64 // means of width rounds each, oldest first
	width int
	last  float64 // sum of the mean losses of the latest rounds, too few for an entry of means; open is their number
	open  int
	sum   float64 // sum of the losses of the round in progress
	count int
}

// Add adds losses to the round in progress and keeps no reference to them. It ignores losses that are not
// [zoest.Usable].
func (c *Curve) Add(losses []float64) {
	for _, loss := range losses {
		if zoest.Usable(loss) {
			c.sum += loss
			c.count++
		}
	}
}

// Close ends a round. It ignores a round without a loss.
func (c *Curve) Close() {
	if c.count == 0 {
		return
	}
	if c.means == nil {
		c.means, c.width = make([]float64, 0, mostMeans), 1 // later rounds allocate nothing
	}
	c.last += c.sum / float64(c.count)
	c.open++
	c.sum, c.count = 0, 0
	if c.open < c.width {
		return
	}
	c.means = append(c.means, c.last/float64(c.width))
	c.last, c.open = 0, 0
	if len(c.means) == mostMeans {
		for i := range mostMeans / 2 {
			c.means[i] = (c.means[2*i] + c.means[2*i+1]) / 2
		}
		c.means, c.width = c.means[:mostMeans/2], 2*c.width
	}
}

// Trend returns the trend of the rounds so far, or nil if there are fewer than 24 rounds.
func (c *Curve) Trend() *Trend {
	n := len(c.means) / eighths
	if n*eighths < leastTrend {
		return nil
	}
	at := len(c.means) - 3*n
	first, _ := moments(c.means[:n])
	earlier, _ := moments(c.means[at:][:n])
	before, a := moments(c.means[at+n:][:n])
	last, b := moments(c.means[at+2*n:])
	t := &Trend{Rounds: len(c.means) * c.width, Before: before, Last: last, Spread: math.Sqrt((a + b) / float64(2*(n-1)))}
	t.Falling = before-last > t.Spread && before-last > leastFall*(first-last) && earlier > before
	return t
}

func moments(v []float64) (mean, squares float64) {
	for _, x := range v {
		mean += x
	}
	mean /= float64(len(v))
	for _, x := range v {
		d := x - mean
		squares += float64(d * d)
	}
	return mean, squares
}
