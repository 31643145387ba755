package method

import (
	"math"
	"strconv"
)

// At returns the value at a relative position in the range, where share 0 is Low and share 1 is High. The value is
// rounded to four significant digits, or to an integer if p.Whole is set.
func (p Param) At(share float64) float64 {
	x := p.Low + share*(p.High-p.Low)
	if p.Log {
		x = p.Low * math.Pow(p.High/p.Low, share)
	}
	if p.Whole {
		return min(max(math.Round(x), math.Ceil(p.Low)), math.Floor(p.High))
	}
	y, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 4, 64), 64)
	if err != nil {
		return x
	}
	return y
}
