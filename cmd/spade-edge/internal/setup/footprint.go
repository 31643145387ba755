package setup

import (
	"cmp"
	"crypto/ed25519"
	"math"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/graph"
	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/sdk/wire"
	"github.com/spade-dfl/spade-edge/zoest"
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// frames are the lengths in bytes of what a node sends to one neighbor.
type frames struct {
	Learning int64 `json:"learning"`         // a round of learning
	Mixing   int64 `json:"mixing,omitempty"` // a round of mixing, on average
	Cooldown int64 `json:"cooldown"`         // a round of cool-down
	Done     int64 `json:"done"`             // the last word
}

// sampled is how many coordinates of a frame are really encoded; a longer one is taken to be proportional.
const sampled = 100_000

var blank [signed.Size]byte

// Meter returns a function that encodes a message of so many coordinates, as a node with a key sends it, what is signed
// left blank, and returns the length of its frame in bytes. It is for one goroutine.
func Meter(dim int) func(*admm.Message) (int, error) {
	codec, err := wire.NewCodec(dim)
	var frame []byte
	return func(msg *admm.Message) (int, error) {
		if err != nil {
			return 0, err
		}
		sent := *msg
		if msg.Kind == admm.Done {
			sent.Signed.Proof, sent.Signed.Countersign = blank[:], blank[:ed25519.SignatureSize]
		} else {
			sent.Signed.Own = blank[:]
		}
		frame, err = codec.Append(frame[:0], &sent)
		return len(frame), err
	}
}

// NewFrames encodes frames like those of the run: normal numbers, which is what noise makes of a model. calm has the
// standard deviations of what releases on the grid carry, in units of the noise.
func NewFrames(f *sdk.Fleet, cfg admm.Config, calm graph.Settling) (out frames, err error) {
	d := min(f.Dim, sampled)
	meter := Meter(d)
	length := func(msg admm.Message) int64 {
		msg.Round = f.Method.Rounds
		encoded, e := meter(&msg)
		err = cmp.Or(err, e)
		n := float64(encoded)
		if msg.Kind != admm.Done && f.Dim > d {
			n = signed.Size + (n-signed.Size)*float64(f.Dim)/float64(d)
		}
		return int64(math.Ceil(n))
	}
	s := rng.New(cfg.Estimator.Seed, rng.Address{Purpose: rng.Noise})
	numbers := make([]float32, d)
	for i := range numbers {
		numbers[i] = float32(s.Normal())
	}
	kind := admm.EdgeMessage
	if cfg.Releases {
		kind = admm.Release
	}
	if n := len(calm.Mix); n > 0 && cfg.Releases && cfg.GridStep > 0 && calm.Mix[n-1]*f.Privacy.Sigma < cfg.GridStep/2 {
		// Members agree to the step when the cool-down begins, and their models stay on the grid.
		spread := calm.Step * f.Privacy.Sigma * math.Sqrt(float64(f.Method.Rounds)) / cfg.GridStep
		for i, v := range numbers {
			numbers[i] = float32(math.RoundToEven(float64(v)*spread) * cfg.GridStep)
		}
	}
	out = frames{Cooldown: length(admm.Message{Kind: kind, Vector: numbers}), Done: length(admm.Message{Kind: admm.Done})}
	out.Learning = out.Cooldown
	if len(calm.Mix) > 0 {
		out.Mixing = out.Cooldown
	}
	if !cfg.Releases || cfg.GridStep == 0 {
		return out, err
	}
	grid := make([]int32, d)
	gridded := func(deviation float64) int64 {
		steps := deviation * f.Privacy.Sigma / cfg.GridStep
		for i := range grid {
			grid[i] = int32(math.RoundToEven(s.Normal() * steps))
		}
		return length(admm.Message{Kind: kind, Grid: grid})
	}
	out.Learning = gridded(calm.Step)
	const distinct = 32 // so many rounds of mixing are encoded; those after them are like the last one
	var sum, last int64
	for j, deviation := range calm.Mix {
		if j < distinct {
			last = gridded(deviation)
		}
		sum += last
	}
	if n := int64(len(calm.Mix)); n > 0 {
		out.Mixing = sum / n
	}
	return out, err
}

// NewMemory returns how many bytes a node's numbers take, as [zoest.Estimator] and [admm.Machine] say, for an oracle that
// is asked one query at a time; state is what [NewState] returns. The program itself, about 10 MB, its connections, its
// oracle and frames on their way come on top.
func NewMemory(c admm.Config, state int64) int64 {
	d, m, degree := int64(c.Estimator.Dim), int64(c.Estimator.Samples), len(c.Neighbors)
	sum := state + 8<<10 + 8*(m+cmp.Or(int64(c.Estimator.Batch), m)) // small things, and the draw of a batch
	sum += d + 4*int64(c.Estimator.Memory())                         // directions of signs; with tracking, the rows of the table
	// Vectors: of the estimator three, the machine's model, local iterate, penalty and noise, z and messages of every
	// neighbor, what others see of the model, and a frame decoded.
	vectors := 9 + 5*degree
	if c.Releases {
		vectors = 9 + 4*degree + 2*min(1, degree)
	}
	vectors += Count(c.GridStep > 0) + degree*Count(c.GridStep > 0 && c.Releases) + 2*Count(!c.NonPrivate) +
		2*Count(c.PairKey != nil) + (1+degree)*Count(c.Robust > 0) + 2*Count(c.Average)
	switch {
	case c.Estimator.Seeded:
		vectors += 2 // a row made whole, twice
		sum += 12 * m
	case c.Estimator.Kind != zoest.Tracking:
		sum += 4 * m * d // a row for each sample
	}
	return sum + 4*d*int64(vectors)
}

// NewState returns how long the encoded state is, but for what names and counts of unusual lengths take.
func NewState(c admm.Config) int64 {
	grid, edges := c.GridStep > 0, len(c.Neighbors)
	vectors := Count(true, c.Average, grid, grid && c.Releases) +
		edges*Count(true, c.Releases, grid && c.Releases, c.Robust > 0)
	rest := 162 + signed.Size + edges*(73+2*signed.Size)
	rest += 86*Count(!c.NonPrivate) + 57*Count(c.Privacy.Shared.Sigma > 0) // what is spent
	return 4*(int64(vectors)*int64(c.Estimator.Dim)+int64(c.Estimator.Memory())) + int64(rest)
}

// Count returns how many of the values are true.
func Count(all ...bool) (n int) {
	for _, b := range all {
		if b {
			n++
		}
	}
	return n
}

// diskCost is what a node's state and ledger take, in bytes as they are handed to the file system: its journal and
// whole pages come on top. Names and numbers are taken to have usual lengths.
type diskCost struct {
	Slots   int64 `json:"slots"`            // set aside: two slots, each for the longest state
	Round   int64 `json:"round"`            // written in a round of learning: state, a line of the log, one of the ledger, and its mark
	Memory  int64 `json:"memory,omitempty"` // of each state, what the tracking estimator remembers
	Written int64 `json:"written"`          // in the whole run: what wears flash out
}

// NewDiskCost returns what a node with a store and, in a private run, a ledger writes for a state of so many bytes.
func NewDiskCost(f *sdk.Fleet, c admm.Config, size int64) diskCost {
	private, shares := int64(Count(!c.NonPrivate)), int64(Count(c.Privacy.Shared.Sigma > 0))
	calm := size + 327 + 50*private + 58*shares // a slot with its digest, and a line of the log
	d := diskCost{Slots: state.DirSize(f.StateSize(f.Members[c.Estimator.Client], c.Estimator.Samples)),
		Round: calm + 410*private + 60*shares}
	if c.Estimator.Kind == zoest.Tracking {
		d.Memory = 4 * int64(c.Estimator.Memory())
	}
	d.Written = int64(f.Method.Rounds)*d.Round + int64(f.Method.Last()-f.Method.Rounds)*calm
	return d
}
