package unit

import (
	"math"
	"math/bits"
)

// Rounds returns how many rounds of learning a run has for a [Signal], unless something else is asked for: 10, or 20 where
// the model goes so far that 10 steps are long.
func Rounds(signal float64) int {
	if Far(signal) > 16 {
		return 20
	}
	return 10
}

// Tau returns how many queries of each record a round has, for a model of dim parameters: twice as many as there are Walsh
// directions, from 16 to 64.
func Tau(dim int) int { return min(max(16, 2<<bits.Len(uint(dim-1))), 64) }

// Mu returns the smoothing radius: a query moves the score of a record with features of mean square 1 by about 1, and by
// about 2 where the model has a hidden layer, as its parameters share what moves a score.
func Mu(dim int, hidden bool) float64 {
	reach := 1.0
	if hidden {
		reach = 2
	}
	return reach / math.Sqrt(float64(dim))
}

// Radius returns R, to which the slope of each record is clipped, for a smoothing radius mu: about a quarter of a slope at
// the start, so that nearly all records are clipped and weigh the same.
func Radius(mu float64, dim int) float64 { return mu * math.Sqrt(float64(dim)) / 15 }

// Signal returns what the clipped records of all members add up to in all rounds if they agree, against the noise of the
// members' mean: mean is the mean number of records of a member, and ratio is the radius of one record's share of a
// release (R_s) over the standard deviation of a member's own noise in it. What neighbors share cancels in the mean.
func Signal(mean float64, members, dim, rounds int, ratio float64) float64 {
	return mean * math.Sqrt(float64(rounds)*float64(members)/float64(dim)) * ratio
}

// Far returns how far all clipped updates in a row should take the model, in units of it, for a [Signal]: the model goes
// farther where noise leaves more, from 2 to 50.
func Far(signal float64) float64 { return min(max(2, signal*signal/40), 50) }

// Agree is how far the records of real data sets agree at the start, as a share of what they would add up to if they all
// did. It turns a [Signal] into that of a forecast.
const Agree = 0.1
