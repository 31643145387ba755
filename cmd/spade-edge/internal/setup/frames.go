package setup

import (
	"cmp"
	"crypto/ed25519"
	"math"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/graph"
	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/sdk/wire"
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

// Count returns how many of the values are true.
func Count(all ...bool) (n int) {
	for _, b := range all {
		if b {
			n++
		}
	}
	return n
}
