package zoest

import (
	"errors"
	"fmt"
	"math"
)

// Config is the configuration of an [Estimator]. [NewEstimator] does not check the ranges of settings, which package
// setting has.
type Config struct {
	Dim        int // d, the length of the parameter vector; at least 1
	Samples    int // m, the number of samples of the oracle; at least 1
	Batch      int // b, queries per local step, 1..m; 0 means m
	Directions Distribution
	Kind       Kind // what the estimator remembers of each component

	// Records makes every result for one record independent of all other records, as record-level privacy requires. The
	// driver must pass the released model to every Step of a round, and use [Estimator.Rows] instead of Estimate.
	// Records cannot be combined with Momentum, and Batch must be 0 or Samples.
	Records bool

	// Momentum, in [0, 1), is the weight of earlier rounds in the result of [Estimator.Carry].
	Momentum float64

	// Window is the maximum number of open queries of a stage; 0 means 1. Each open query uses memory for d numbers.
	// Results do not depend on Window.
	Window int

	Seed   uint64 // public seed of all draws
	Client uint32 // the client's number in its network; no two clients share draws
}

// maxTable is the maximum number of float32 values in a table. Their size in bytes must fit into an int and into a
// 64-bit address space.
const maxTable = min(math.MaxInt/8, 1<<44)

// check returns errors that name the fields with which an estimator would panic.
func (c Config) check() error {
	var errs []error
	want := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("zoest: "+format, args...))
		}
	}
	want(c.Dim >= 1, "Dim is %d, want at least 1", c.Dim)
	want(c.Samples >= 1 && c.Samples <= math.MaxInt32, "Samples is %d, want 1..%d", c.Samples, math.MaxInt32)
	want(c.Batch >= 0 && (c.Samples < 1 || c.Batch <= c.Samples),
		"Batch is %d, want 0 (all) or 1..%d, the number of samples", c.Batch, c.Samples)
	want(c.Dim < 1 || c.Samples < 1 || int64(c.Samples) <= maxTable/int64(max(c.Dim, 1)),
		"a table of %d samples by %d numbers does not fit into memory", c.Samples, c.Dim)
	return errors.Join(errs...)
}

// Window returns a Config.Window for a fast oracle: the number of queries whose points fit into 32 KiB, but at least 1 and
// at most 16.
func Window(dim int) int { return max(1, min(16, 1<<13/max(1, dim))) }
