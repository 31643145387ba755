package zoest

import "context"

// Oracle is the black box: it evaluates the loss of one sample at one point. That is all SPADE-Edge ever learns about a
// model.
type Oracle interface {
	// Loss returns f_h(x) for the sample h, 0 <= h < m, plus noise of mean zero if that is the nature of the measurement
	// (zeta in the paper). x belongs to the caller and is valid during the call only. A repeated call need not give
	// the same value. It should return early when ctx ends.
	Loss(ctx context.Context, x []float32, sample int) (float64, error)
}

// OracleFunc makes a function an [Oracle].
type OracleFunc func(ctx context.Context, x []float32, sample int) (float64, error)

// Loss calls f.
func (f OracleFunc) Loss(ctx context.Context, x []float32, sample int) (float64, error) {
	return f(ctx, x, sample)
}

// Query is one question for the oracle: the loss of a sample at a point.
type Query struct {
	Point  []float32 // length d; owned by the estimator and valid until the answer is given
	Sample int       // the component h, 0 <= h < m
}
