package main

import (
	"time"

	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/zoest"
)

const (
	querySeed = 1
	queryEta  = 0x1p-10
	queryMu   = 0.125
)

func queryLoss(q zoest.Query) float64 { return float64(q.Point[0]) + 1 }

// machineQueries runs one round of a single client with m samples in dimension d. The round has the given number of
// local steps with b queries each, and the machine requests up to window losses at once. machineQueries returns the
// model and the nanoseconds per query in a local step.
func machineQueries(d, m, b, steps, window int) (model []float32, ns float64, err error) {
	machine, err := admm.New(admm.Config{
		Estimator: zoest.Config{Dim: d, Samples: m, Batch: b, Seed: querySeed, Window: window},
		Rounds:    1, Tau: steps, Rho: 1, Beta: 1, Eta: admm.Schedule{queryEta}, Mu: admm.Schedule{queryMu}, NonPrivate: true,
	})
	if err != nil {
		return nil, 0, err
	}
	losses := make([]float64, window)
	var start time.Time
	for asked := 0; ; {
		r, err := machine.Ready()
		if err != nil {
			return nil, 0, err
		}
		if r.Released > 0 {
			break
		}
		if asked == m {
			start = time.Now()
		}
		for i, q := range r.Queries {
			losses[i] = queryLoss(q)
		}
		if err := machine.Answer(losses[:len(r.Queries)]...); err != nil {
			return nil, 0, err
		}
		asked += len(r.Queries)
	}
	return machine.Model(), float64(time.Since(start).Nanoseconds()) / float64(b*steps), nil
}
