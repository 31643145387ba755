package zoest

import (
	"errors"
	"fmt"
	"math"

	"github.com/spade-dfl/spade-edge/zoest/setting"
)

// Config is the fixed configuration of an [Estimator].
type Config struct {
	Dim        int // d, the length of the parameter vector; at least 1
	Samples    int // m, the number of samples of the oracle; at least 1
	Batch      int // b, queries per local step, 1..m; 0 means m
	Directions Distribution
	Kind       Kind // what the estimator remembers of each component

	// Seeded replaces the 4d bytes of each table row by 8 bytes (12 with Walsh directions), from which the row is
	// recomputed. The results have the same bits; each query costs one more drawn direction. Seeded excludes Tracking,
	// whose rows are sums over all queries.
	Seeded bool

	// Records keeps records apart, for releases that protect each record. All queries of a round are made at the
	// released model, which the driver passes to Step, and [Estimator.Rows] replaces Estimate. Records excludes Seeded,
	// Momentum and a Batch other than all samples.
	Records bool

	// Momentum, in [0, 1), is the weight of earlier rounds in the result of [Estimator.Carry].
	Momentum float64

	// Window is the number of queries of a stage that may be open at once; 0 means 1. Each open query takes the memory
	// of 2d numbers. Results do not depend on Window.
	Window int

	Seed   uint64 // public seed of all draws
	Client uint32 // the client's number in its network; no two clients share draws
}

// maxTable bounds the numbers in a table: their size in bytes must fit an int and a 64-bit address space.
const maxTable = min(math.MaxInt/8, 1<<44)

// Validate reports all errors of the configuration together.
func (c Config) Validate() error {
	errs := []error{setting.Momentum.Check("zoest", "Momentum", c.Momentum)}
	want := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("zoest: "+format, args...))
		}
	}
	want(c.Dim >= 1, "Dim is %d, want at least 1", c.Dim)
	want(c.Samples >= 1 && c.Samples <= math.MaxInt32, "Samples is %d, want 1..%d", c.Samples, math.MaxInt32)
	want(c.Batch >= 0 && (c.Samples < 1 || c.Batch <= c.Samples),
		"Batch is %d, want 0 (all) or 1..%d, the number of samples", c.Batch, c.Samples)
	want(c.Window >= 0, "Window is %d, want 0 (one) or more", c.Window)
	want(c.Directions >= Rademacher && c.Directions <= Walsh, "Directions is %v, want Rademacher or Walsh", c.Directions)
	want(c.Directions != Walsh || c.Dim <= 1<<30, "Dim is %d, want at most 2^30 with Walsh directions", c.Dim)
	want(c.Kind >= Paper && c.Kind <= Tracking, "Kind is %d, want Paper, Centered or Tracking", c.Kind)
	want(c.Kind != Tracking || !c.Seeded, "Tracking with a seeded table, want a dense one: its rows cannot be recomputed")
	want(!c.Records || !c.Seeded, "Records with a seeded table, want a dense one: a seeded row has only one query")
	want(!c.Records || c.Momentum == 0, "Records with Momentum %v, want 0: a sum of unreleased updates would count a record "+
		"in many releases", c.Momentum)
	want(!c.Records || c.Batch == 0 || c.Batch == c.Samples, "Records with Batch %d, want 0: each step queries every record",
		c.Batch)
	want(c.Dim < 1 || c.Samples < 1 || c.Seeded || int64(c.Samples) <= maxTable/int64(max(c.Dim, 1)),
		"a table of %d samples by %d numbers does not fit into memory; a seeded table does", c.Samples, c.Dim)
	return errors.Join(errs...)
}
