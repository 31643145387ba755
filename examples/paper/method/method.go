package method

import (
	"context"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk/graph"
	"github.com/spade-dfl/spade-edge/zoest"
)

// World is the environment in which a method runs. Methods compared with each other get equal worlds. A method must not
// change its world.
type World struct {
	Clients []Client
	Graph   *graph.Graph // the communication graph; ignored by methods with a server
	Dim     int          // d
	X0      []float32    // the common start, length Dim; nil means zeros
	Columns bool         // each parameter is the weight of a column of a table, as in [plan.Known]
	Rounds  int          // K, communication rounds
	Seed    uint64       // seed of every draw that a method makes

	// Queries is the maximum number of losses that a client may be asked for in a round, as a multiple of its number of
	// samples; 0 means no limit. SPADE-DFL with tau local steps on all samples needs 1+tau.
	Queries float64

	// Privacy is the guarantee that everything a method sends must provide for every client or every record. Nil means
	// no guarantee and no noise.
	Privacy *Privacy
}

// Client is the data of one client, which a method accesses only through losses. The oracle is safe for concurrent use.
type Client struct {
	Oracle  zoest.Oracle
	Samples int // number of samples, m_i

	// Gradient stores in g the gradient of a sample's loss at x. It may be nil. Only methods whose names mention exact
	// gradients call it.
	Gradient func(g, x []float32, sample int)
}

// Privacy is a guarantee of (Epsilon, Delta)-differential privacy under exact Gaussian accounting. Neighboring inputs
// differ either in the whole data set of one client, or in one record, which may be replaced with any other record.
// Only [DPSGD], [DPZero], [LTADMMDP] with PerSample and [Suggested] support record-level privacy.
type Privacy struct {
	Epsilon, Delta float64
	Unit           dpmech.Unit
}

// Setting holds the values of a method's parameters by name.
type Setting map[string]float64

// Param is a parameter that a search may vary.
type Param struct {
	Name      string
	Low, High float64 // inclusive bounds
	Log       bool    // searched on a logarithmic scale
	Whole     bool    // integers only
}

// Spent is the cost of a run.
type Spent struct {
	Queries int64 // losses asked for, by all clients
	Scalars int64 // numbers sent, by all clients and the server
	Served  int64 // how many of Scalars the server sent; set only by methods that send nothing but scalars
}

// Method is one of the compared methods.
type Method interface {
	// Name returns the name used in the tables.
	Name() string

	// Space lists the parameters that a search varies in the world w. Without privacy, for example, there is no
	// clipping norm. All other parameters are fixed by the world or by the description of the method.
	Space(w *World) []Param

	// Run runs all rounds. After each round, 1 to w.Rounds, it calls the function each with the models of the clients,
	// or with a single model if the method has a server or pooled data. The models are valid only during the call. Run
	// fails if it cannot stay within w.Queries and w.Privacy. Equal worlds and settings give the same models, bit for
	// bit.
	Run(ctx context.Context, w *World, s Setting, each func(round int, models [][]float32) error) (Spent, error)
}

// Last runs a method and returns a copy of its final models.
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

// Mean returns the coordinate-wise mean of the models.
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
