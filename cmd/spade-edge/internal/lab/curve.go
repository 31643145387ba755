package lab

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"strconv"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/setup"
)

// point returns the point of a run's curve after release k: it scores the average of the models, which no client has.
func point(p *setup.Problem, k int, models [][]float32, sent int64) setup.Point {
	mean := setup.Mean(models)
	return setup.Point{Round: k, Score: p.Scores(mean)[0], ConsensusError: setup.ConsensusError(mean, models), BytesSent: sent}
}

// curvesOf returns a CSV file with one line for each point of each run. Runs without noise have no epsilon.
func curvesOf(runs []setup.Options, results []*setup.Result) []byte {
	var text bytes.Buffer
	out := csv.NewWriter(&text)
	out.Write([]string{"epsilon", "seed", "round", results[0].Score.Measure.Name(), "consensus_error", "bytes_sent"})
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }
	for i, r := range results {
		epsilon := ""
		if r.Privacy != nil {
			epsilon = number(runs[i].Asked.Privacy.EpsilonLimit)
		}
		for _, at := range r.Curve {
			out.Write([]string{epsilon, fmt.Sprint(r.Seed), fmt.Sprint(at.Round), number(at.Score), number(at.ConsensusError), fmt.Sprint(at.BytesSent)})
		}
	}
	out.Flush()
	return text.Bytes()
}
