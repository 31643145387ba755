package lab

import (
	"cmp"
	"crypto/ed25519"
	"math"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/sdk/topology"
	"github.com/spade-dfl/spade-edge/sdk/wire"
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// frames has the sizes, in bytes, of the frames that a node sends to one neighbor, by phase.
type frames struct {
	Learning int64 `json:"learning"`
	Mixing   int64 `json:"mixing,omitempty"` // in a mixing round, on average
	Cooldown int64 `json:"cooldown"`
	Done     int64 `json:"done"` // the completion message
}

// sampled is the number of coordinates that are encoded to extrapolate the size of a frame with more coordinates.
const sampled = 100_000

var blank [signed.Size]byte

// meter returns a function that returns the frame size, in bytes, of a message of dim coordinates. It fills the
// signed fields with placeholders of the same length as in a fleet with keys. The function is not safe for concurrent
// use.
func meter(dim int) func(*admm.Message) (int, error) {
	codec, err := wire.NewCodec(dim)
	var sent admm.Message // reused, because the codec's argument escapes
	return func(msg *admm.Message) (int, error) {
		if err != nil {
			return 0, err
		}
		sent = *msg
		if msg.Kind == admm.Done {
			sent.Signed.Proof, sent.Signed.Countersign = blank[:], blank[:ed25519.SignatureSize]
		} else {
			sent.Signed.Own = blank[:]
		}
		return codec.Length(&sent)
	}
}

// newFrames encodes frames like those of the run and returns their sizes. The numbers in the encoded frames are
// normally distributed, like the noise. calm predicts how much a release differs from the one before, in units of the
// noise's standard deviation.
func newFrames(f *sdk.Fleet, cfg admm.Config, calm topology.Decay) (out frames, err error) {
	d := min(f.Dim, sampled)
	weigh := meter(d)
	length := func(msg admm.Message) int64 {
		msg.Round = f.Method.Rounds
		encoded, e := weigh(&msg)
		err = cmp.Or(err, e)
		n := float64(encoded)
		if msg.Kind != admm.Done {
			n = signed.Size + (n-signed.Size)*float64(f.Dim)/float64(d)
		}
		return int64(math.Ceil(n))
	}
	s := rng.New(cfg.Estimator.Seed, rng.Address{Purpose: rng.Noise})
	numbers := make([]float32, d)
	for i := range numbers {
		numbers[i] = float32(s.Normal())
	}
	out = frames{Cooldown: length(admm.Message{Kind: admm.Release, Vector: numbers}), Done: length(admm.Message{Kind: admm.Done})}
	out.Learning = out.Cooldown
	if len(calm.Mix) > 0 {
		out.Mixing = out.Cooldown
	}
	if cfg.GridStep == 0 {
		return out, err
	}
	grid := make([]int32, d)
	gridded := func(deviation float64) int64 {
		steps := deviation * f.Privacy.Sigma / cfg.GridStep
		for i := range grid {
			grid[i] = int32(math.RoundToEven(s.Normal() * steps))
		}
		return length(admm.Message{Kind: admm.Release, Grid: grid})
	}
	out.Learning = gridded(calm.Step)
	const distinct = 32 // number of mixing rounds to encode; later rounds have frames like the last of these
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
