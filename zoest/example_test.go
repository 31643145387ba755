package zoest_test

import (
	"context"
	"fmt"

	"github.com/spade-dfl/spade-edge/zoest"
	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// This example fits a line through three points without a gradient. The oracle returns only the error of a line at one
// of the points. The driver passes the estimator's queries to the oracle and the answers back to the estimator.
func Example() {
	ctx := context.Background()
	var oracle zoest.Oracle = zoest.OracleFunc(func(_ context.Context, x []float32, h int) (float64, error) {
		at, want := []float64{-1, 0, 1}[h], []float64{-1, 1, 3}[h] // points on 2*t + 1
		off := float64(x[0])*at + float64(x[1]) - want
		return off * off, nil
	})
	est, err := zoest.NewEstimator(zoest.Config{Dim: 2, Samples: 3, Batch: 2, Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}

	queries := 0
	ask := func() error { // until the stage is complete
		for {
			open := est.Next()
			if len(open) == 0 {
				return nil
			}
			losses := make([]float64, len(open))
			if err := zoest.Ask(ctx, oracle, open, losses, 0); err != nil {
				return err
			}
			if err := est.Answer(losses...); err != nil {
				return err
			}
			queries += len(open)
		}
	}

	const mu, eta = 0.1, 0.2
	x := []float32{0, 0} // slope and height of the line
	for round := range 100 {
		est.Fill(round, x, mu) // one query for each sample
		if err := ask(); err != nil {
			fmt.Println(err)
			return
		}
		for range 5 {
			est.Step(x) // one query for each sample of the batch
			if err := ask(); err != nil {
				fmt.Println(err)
				return
			}
			vec.Axpy(x, -eta, est.Estimate()) // the estimate is mu times a gradient estimate
		}
	}
	fmt.Printf("slope %.1f, height %.1f after %d queries\n", x[0], x[1], queries)
	// Output: slope 2.0, height 1.0 after 1300 queries
}
