package setup

import (
	"errors"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"

	"github.com/spade-dfl/spade-edge/sdk/task"
)

// regression is what predicted numbers are worth on the test data, in the unit of the target, and its JSON.
type regression struct {
	// over clients, each with the model it holds at the end
	RMSEMean float64 `json:"rmse_mean"`
	RMSEMax  float64 `json:"rmse_max"` // the worst
	MAEMean  float64 `json:"mae_mean"`
	R2Mean   float64 `json:"r2_mean"`

	RMSENetworkMean float64  `json:"rmse_network_mean"`       // of the average model, which no client holds
	RMSEAveraged    *float64 `json:"rmse_averaged,omitempty"` // over clients, each with the running mean of its releases
	RMSEAlone       *float64 `json:"rmse_alone,omitempty"`    // over clients, each trained by itself
	RMSEPooled      *float64 `json:"rmse_pooled,omitempty"`   // of one client with everybody's data

	// of always saying the mean of the test data, whose R^2 is 0
	MeanRMSE float64 `json:"rmse_of_mean"`
	MeanMAE  float64 `json:"mae_of_mean"`
}

// errors compares a model's predictions with the test data; what it cannot say is zero.
func (p *Problem) errors(x []float32) *task.NumberMetrics {
	if m, err := p.Test.Errors(x); err == nil {
		return m
	}
	return new(task.NumberMetrics)
}

// scoreNumbers is score where a number is predicted. It returns the RMSE of each client.
func (r *Result) scoreNumbers(p *Problem, xbar []float32, models, means [][]float32) ([]float64, error) {
	of, err := p.Test.Errors(xbar)
	if err != nil {
		return nil, err
	}
	if of.R2 == nil {
		return nil, errors.New("the test data have one target only: there is nothing to tell apart")
	}
	g := &regression{RMSENetworkMean: of.RMSE.Value, MeanRMSE: of.MeanRMSE, MeanMAE: of.MeanMAE}
	r.Regression = g
	var each []float64
	n := float64(len(models))
	for _, x := range models {
		m, err := p.Test.Errors(x)
		if err != nil {
			return nil, err
		}
		each = append(each, m.RMSE.Value)
		g.RMSEMean += m.RMSE.Value / n
		g.RMSEMax = max(g.RMSEMax, m.RMSE.Value)
		g.MAEMean += m.MAE.Value / n
		g.R2Mean += m.R2.Value / n
	}
	if p.Opt.Average {
		averaged, _ := Average(p.Scores(means...))
		g.RMSEAveraged = &averaged
	}
	return each, nil
}

// Write prints it for people.
func (g *regression) Write(t cli.Table, clients int) {
	t.Row("errors", "RMSE %.4g on average over %d clients, %.4g at the highest, %.4g for the network's average model; "+
		"MAE %.4g; R^2 %.3f", g.RMSEMean, clients, g.RMSEMax, g.RMSENetworkMean, g.MAEMean, g.R2Mean)
	t.Row("", "always saying the mean: RMSE %.4g, MAE %.4g, R^2 0", g.MeanRMSE, g.MeanMAE)
	if g.RMSEAveraged != nil {
		t.Row("averaged", "RMSE %.4g with each client's running mean of its releases", *g.RMSEAveraged)
	}
}
