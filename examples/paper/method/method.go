package method

import (
	"context"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk/graph"
	"github.com/spade-dfl/spade-edge/zoest"
)

// World is what a method runs on. Methods of one paired comparison are given equal worlds, and must not change them.
type World struct {
	Clients []Client
	Graph   *graph.Graph // who talks to whom; a method with a server has no use for it
	Dim     int          // d
	X0      []float32    // the common start, length Dim; nil means zeros
	Columns bool         // each parameter is the weight of a column of a table, as in [plan.Known]
	Rounds  int          // K, communication rounds
	Seed    uint64       // of every draw that is not a world's own

	// Queries bounds how many losses a client may ask for in a round, as a multiple of its samples; 0 means no bound.
	// SPADE-DFL with tau local steps on all samples takes 1+tau.
	Queries float64

	// Privacy is what every client, or every record, is promised for everything that is sent; nil: nothing, and no noise.
	Privacy *Privacy
}

// Client is one client's data, seen through its losses. The oracle is safe for use by several goroutines.
type Client struct {
	Oracle  zoest.Oracle
	Samples int // m_i

	// Gradient stores the gradient of a sample's loss at x in g. Only a method that is named as one with exact gradients
	// asks for it; nil otherwise.
	Gradient func(g, x []float32, sample int)
}

// Privacy is a guarantee: (Epsilon, Delta)-differential privacy by exact Gaussian accounting, where neighboring inputs
// differ in the whole data set of one client, or in one record (replaced by any other). Only [DPSGD], [DPZero],
// [LTADMMDP] with PerSample and [Suggested] accept the unit record.
type Privacy struct {
	Epsilon, Delta float64
	Unit           dpmech.Unit
}

// Setting is one choice of a method's parameters, by name.
type Setting map[string]float64

// Param is one parameter that a search may choose.
type Param struct {
	Name      string
	Low, High float64 // both possible
	Log       bool    // searched evenly in its logarithm
	Whole     bool    // whole numbers only
}

// Spent is what a run took.
type Spent struct {
	Queries int64 // losses asked for, by all clients
	Scalars int64 // numbers sent, by all clients and the server
}

// Method is one contender.
type Method interface {
	// Name is how the paper calls it.
	Name() string

	// Space lists what is searched for in such a world. A method without privacy has no clip in it, and so on. Everything
	// else is fixed by the world or by the method's description.
	Space(w *World) []Param

	// Run goes through all rounds and calls each after every one, 1 to w.Rounds, with the models that the clients hold
	// (one, for a method with a server or pooled data), valid during the call. It keeps within w.Queries and w.Privacy, or
	// fails. The same world and setting give the same models, bit for bit.
	Run(ctx context.Context, w *World, s Setting, each func(round int, models [][]float32) error) (Spent, error)
}

// Last makes a run and returns a copy of the models that it ends with.
func Last(ctx context.Context, m Method, w *World, s Setting) (models [][]float32, spent Spent, err error) {
	spent, err = m.Run(ctx, w, s, func(_ int, now [][]float32) error {
		if models == nil {
			models = vectors(len(now), w.Dim)
		}
		for i, x := range now {
			copy(models[i], x)
		}
		return nil
	})
	return models, spent, err
}

// Mean returns the average of models.
func Mean(models [][]float32) []float32 {
	out := make([]float32, len(models[0]))
	for j := range out {
		sum := 0.0
		for _, x := range models {
			sum += float64(x[j])
		}
		out[j] = float32(sum / float64(len(models)))
	}
	return out
}
