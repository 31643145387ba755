package main

import (
	"time"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/zoest"
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// work is what a round asks of a processor, in seconds: measured where the plan is made, for a few hundredths of a
// second, on what fits there. The oracle's own time is left out, and so is what frames cost, which is little beside it.
type work struct {
	Query   float64 `json:"query"`   // drawing a direction, and working the answer into the estimate
	Release float64 `json:"release"` // clip and noise; 0 without privacy
	Round   float64 `json:"round"`   // m + tau*b queries and a release
}

// newWork measures. What is longer than the sample that is measured is taken to cost in proportion.
func newWork(c admm.Config) (w work, err error) {
	const mostDim, mostRows, sample = 1 << 16, 64, 20 * time.Millisecond
	e := c.Estimator
	queries := float64(e.Samples) + float64(c.Tau)*float64(e.Batch)
	if e.Batch == 0 {
		queries = float64(e.Samples) * float64(1+c.Tau)
	}
	scale := float64(e.Dim)
	e.Dim, e.Samples = min(e.Dim, mostDim), min(e.Samples, mostRows)
	e.Batch = min(e.Batch, e.Samples)
	scale /= float64(e.Dim)
	estimator, err := zoest.NewEstimator(e)
	if err != nil {
		return w, err
	}
	x := make([]float32, e.Dim)
	losses := make([]float64, e.Samples)
	asked := 0
	stage := func() error {
		for open := estimator.Next(); len(open) > 0; open = estimator.Next() {
			if err := estimator.Answer(losses[:len(open)]...); err != nil {
				return err
			}
			asked += len(open)
		}
		return nil
	}
	estimator.Fill(0, x, 1)
	if err := stage(); err != nil { // not counted: memory is touched for the first time
		return w, err
	}
	asked = 0
	began := time.Now()
	for asked == 0 || time.Since(began) < sample {
		estimator.Step(x)
		if err := stage(); err != nil {
			return w, err
		}
	}
	w.Query = scale * time.Since(began).Seconds() / float64(asked)
	if len(c.Privacy) > 0 {
		noise := rng.New(1, rng.Address{Purpose: rng.Noise})
		mech, err := dpmech.NewMechanism(e.Dim, &noise)
		if err != nil {
			return w, err
		}
		made := 0
		began = time.Now()
		for made == 0 || time.Since(began) < sample {
			clear(x)
			if err := mech.Release(x, c.Privacy[0]); err != nil {
				return w, err
			}
			made++
		}
		w.Release = scale * time.Since(began).Seconds() / float64(made)
	}
	w.Round = queries*w.Query + w.Release
	return w, nil
}

// rough is a number of seconds as a duration with three digits.
func rough(seconds float64) time.Duration {
	d, unit := time.Duration(min(seconds*1e9, 1<<62)), time.Duration(1)
	for d/unit >= 1000 {
		unit *= 10
	}
	return d.Round(unit)
}
