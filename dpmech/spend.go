package dpmech

import (
	"errors"
	"fmt"
	"math"

	"github.com/spade-dfl/spade-edge/dpmech/internal/faults"
)

const (
	// maxRound is the largest round number, so that round numbers fit in an int on every processor.
	maxRound = math.MaxInt32
	// MaxTotal is the largest valid zCDP total. A larger total protects nothing, and its epsilon cannot be computed.
	MaxTotal = 1e6
)

// Spend describes a number of releases in consecutive rounds with the same parameters.
type Spend struct {
	First  int `json:"first"`  // the first round, at least 1
	Rounds int `json:"rounds"` // the number of releases, at least 1
	Gaussian
}

// String returns the rounds and the parameters.
func (s Spend) String() string {
	return fmt.Sprintf("rounds %d to %d with %v", s.First, s.Last(), s.Gaussian)
}

// Total returns the zCDP cost of the releases, Rounds*2R^2/sigma^2, rounded up. It is the same on every processor. It
// is +Inf if the parameters are not valid.
func (s Spend) Total() Total { return s.Gaussian.Total(s.Rounds) }

// Last returns the last round.
func (s Spend) Last() int { return s.First + s.Rounds - 1 }

// Validate returns an error unless the rounds and the parameters are valid and the cost is at most MaxTotal.
func (s Spend) Validate() error {
	var f faults.List
	most := maxRound - s.First + 1
	f.Want(s.First >= 1 && s.First <= maxRound, "first round is %d, want 1..%d", s.First, maxRound)
	f.Want(len(f) > 0 || s.Rounds >= 1 && s.Rounds <= most, "%d rounds from round %d on, want 1..%d", s.Rounds, s.First, most)
	if err := errors.Join(append(f, s.Gaussian.Validate())...); err != nil {
		return err
	}
	return bounded(s.Total().All)
}

func bounded(rho float64) error {
	if rho <= MaxTotal {
		return nil
	}
	return fmt.Errorf("dpmech: the total cost of the releases is rho %v, want at most %v: a larger cost gives no "+
		"protection", rho, float64(MaxTotal))
}

// sumUp returns a+b, rounded up. a and b must be costs: not negative, and far from overflow and underflow.
func sumUp(a, b float64) float64 {
	s := a + b
	t := s - a
	if rest := (a - (s - t)) + (b - t); rest > 0 { // the rounding error (Knuth's two-sum)
		return math.Nextafter(s, math.Inf(1))
	}
	return s
}
