package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
)

// dim is the length of the vector that is trained: a weight for each feature, and the threshold.
const dim = features + 1

// The features of a second of vibration.
const (
	level = iota // root mean square
	peak         // the largest value in units of the level: knocks of a bearing
	rough        // the level of its changes in units of the level: high frequencies
	beat         // autocorrelation after one turn of the shaft: an imbalance
	features
)

const (
	rate = 1000 // samples of the sensor a second
	turn = 40   // samples in a turn of the shaft
)

// second is the record of a second of vibration.
type second struct {
	features [features]float64 // about 0 in the mean and 1 in deviation on a machine without faults
	fault    bool              // what the mechanic found
}

// site is a machine with its records, which never leave its board.
type site struct{ recorded []second }

// record simulates machine number id for so many seconds. Every machine differs a little, and has faults of its own:
// half of them bearings, half of them imbalances.
func record(id uint64, seconds int) *site {
	draw := rand.New(rand.NewPCG(id, 17))
	s := &site{}
	loud := 1 + 0.2*draw.NormFloat64()
	for i := range seconds {
		fault := i%10 == 9
		knock, swing := 0.0, 0.4
		if fault && (id+uint64(i/10))%2 == 0 {
			knock = 5 + draw.Float64()
		} else if fault {
			swing = 1.3
		}
		signal := make([]float64, rate)
		phase := draw.IntN(turn)
		for t := range signal {
			signal[t] = loud * (draw.NormFloat64() + swing*math.Sin(2*math.Pi*float64(t)/turn))
			if (t+phase)%(5*turn) == 0 {
				signal[t] += loud * knock
			}
		}
		s.recorded = append(s.recorded, second{featuresOf(signal), fault})
	}
	return s
}

// featuresOf returns the features of a signal, centered and scaled by public constants of a machine without faults.
func featuresOf(signal []float64) [features]float64 {
	var square, change, again, most float64
	for t, v := range signal {
		square += v * v
		most = math.Max(most, math.Abs(v))
		if t > 0 {
			d := v - signal[t-1]
			change += d * d
		}
		if t >= turn {
			again += v * signal[t-turn]
		}
	}
	n := float64(len(signal))
	rms := math.Sqrt(square / n)
	var f [features]float64
	f[level] = (rms - 1.04) / 0.2
	f[peak] = (most/rms - 3.3) / 0.35
	f[rough] = (math.Sqrt(change/n)/rms - 1.37) / 0.05
	f[beat] = (again/square - 0.07) / 0.05
	return f
}

// alarm is positive when the alarm is on.
func alarm(weights []float32, f [features]float64) float64 {
	sum := -float64(weights[features])
	for i, v := range f {
		sum += float64(weights[i]) * math.Max(-4, math.Min(4, v))
	}
	return sum
}

// loss says how bad a vector of weights is for one recorded second, from 0 (right) to 1 (wrong). A missed fault counts
// as much as nine false alarms, as there are nine calm seconds for each fault.
func (s *site) loss(_ context.Context, weights []float32, sample int) (float64, error) {
	r := s.recorded[sample]
	wrong := alarm(weights, r.features) // of a calm second
	worth := 1.0 / 9
	if r.fault {
		wrong, worth = -wrong, 1
	}
	return worth / (1 + math.Exp(-wrong)), nil
}

// score is the share of the faults that an alarm catches, and of the other seconds with a false alarm.
type score struct{ caught, wrong float64 }

func (s score) String() string {
	const format = "%.0f %% of the faults caught, false alarms in %.0f %% of the calm seconds"
	return fmt.Sprintf(format, 100*s.caught, 100*s.wrong)
}

func (s *site) score(weights []float32) score {
	var on, total [2]float64 // without and with a fault
	for _, r := range s.recorded {
		kind := 0
		if r.fault {
			kind = 1
		}
		total[kind]++
		if alarm(weights, r.features) > 0 {
			on[kind]++
		}
	}
	return score{caught: on[1] / total[1], wrong: on[0] / total[0]}
}
