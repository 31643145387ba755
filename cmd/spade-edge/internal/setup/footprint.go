package setup

import (
	"cmp"
	"crypto/ed25519"
	"encoding/json"
	"math"
	"slices"
	"strings"

	"github.com/spade-dfl/spade-edge/dpmech"
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

// SignBlank makes a message as long as a node with a key sends it: what is signed is left blank.
func SignBlank(msg *admm.Message) {
	switch msg.Kind {
	case admm.EdgeMessage, admm.Release:
		msg.Signed.Own = blank[:]
	case admm.Done:
		msg.Signed.Proof, msg.Signed.Countersign = blank[:], blank[:ed25519.SignatureSize]
	}
}

var blank [signed.Size]byte

// NewFrames encodes frames like those of the run: normal numbers, which is what noise makes of a model. calm has the
// standard deviations of what releases on the grid carry, in units of the noise.
func NewFrames(f *sdk.Fleet, cfg admm.Config, calm graph.Settling) (frames, error) {
	d := min(f.Dim, sampled)
	codec, err := wire.NewCodec(d)
	if err != nil {
		return frames{}, err
	}
	length := func(msg admm.Message) int64 {
		SignBlank(&msg)
		b, e := codec.Append(nil, &msg)
		if e != nil {
			err = e
		}
		return int64(len(b))
	}
	whole := func(msg admm.Message) int64 {
		n := float64(length(msg))
		if f.Dim > d {
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
	plain := admm.Message{Kind: kind, Round: f.Method.Rounds, Vector: numbers}
	out := frames{Cooldown: whole(plain), Done: length(admm.Message{Kind: admm.Done, Round: f.Method.Rounds})}
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
		return whole(admm.Message{Kind: kind, Round: f.Method.Rounds, Grid: grid})
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

// memory is what a node's numbers take, in bytes: not the program itself, about 10 MB, its connections, its oracle or
// frames on their way.
type memory struct {
	Table      int64 `json:"table"`      // a row for each sample
	Estimator  int64 `json:"estimator"`  // the rest of the estimator
	Machine    int64 `json:"machine"`    // model, local iterate, penalty, noise, and z and messages of every neighbor
	Node       int64 `json:"node"`       // what others see of the model, a frame decoded, and 8 KiB of small things
	Checkpoint int64 `json:"checkpoint"` // the state as it is kept, encoded
	Total      int64 `json:"total"`
}

// NewMemory counts as [zoest.Estimator] and [admm.Machine] say, for an oracle that is asked one query at a time.
func NewMemory(c admm.Config, checkpoint int64) memory {
	d, m, degree := int64(c.Estimator.Dim), int64(c.Estimator.Samples), int64(len(c.Neighbors))
	b := cmp.Or(int64(c.Estimator.Batch), m)
	mem := memory{Table: 4 * m * d, Checkpoint: checkpoint, Node: 2*4*d + 8<<10}
	mem.Estimator = 3*4*d + 8*(m+b) // v and abar and the query's point; the draw of a batch, with integers of 64 bits
	mem.Estimator += 8 * d / 8      // eight directions of signs
	if c.Estimator.Seeded {
		mem.Table = 8 * m
		mem.Estimator += 2*4*d + d/8 // a row made whole, twice, and its direction
	}
	if c.Estimator.Directions == zoest.Walsh {
		mem.Estimator += d / 8 // the stage's signs
		if c.Estimator.Seeded {
			mem.Table += 4 * m
		}
	}
	mem.Estimator += 4 * int64(c.Estimator.Memory())
	if c.Estimator.Kind == zoest.Tracking {
		mem.Estimator -= 4 * m * d // the rows are the table's
	}
	vectors := 4 + 5*degree // of the machine
	if c.Releases {
		vectors = 4 + 4*degree + 2*min(1, degree)
	}
	if c.GridStep > 0 {
		vectors++
		if c.Releases {
			vectors += degree
		}
	}
	if !c.NonPrivate {
		vectors += 2
	}
	if c.PairKey != nil {
		vectors += 2
	}
	if c.Robust > 0 {
		vectors += 1 + degree
	}
	if c.Average {
		vectors++
		mem.Node += 4 * d
	}
	mem.Machine = 4 * d * vectors
	mem.Total = mem.Table + mem.Estimator + mem.Machine + mem.Node + mem.Checkpoint
	return mem
}

// CheckpointSize returns the length of the encoded state. Everything in it but the vectors is measured on a model of
// one number: with the vectors' own lengths it takes a few bytes more.
func CheckpointSize(c admm.Config) (int64, error) {
	vectors, gridded := int64(0), c.GridStep > 0
	floats := func(kept bool) []float32 {
		if !kept {
			return nil
		}
		vectors++
		return []float32{0}
	}
	grid := func(kept bool) []int32 { return make([]int32, len(floats(kept))) }
	snap := wire.Snapshot{Member: strings.Repeat("m", 8), Build: strings.Repeat("b", 24), Signed: blank[:]}
	s := &snap.State
	s.X, s.Mean, s.Grid, s.Delta = floats(true), floats(c.Average), grid(gridded), grid(gridded && c.Releases)
	for range c.Neighbors {
		edge := admm.EdgeState{Z: floats(true), PeerZ: floats(c.Releases), Base: grid(gridded && c.Releases),
			Moved: floats(c.Robust > 0)}
		s.Edges = append(s.Edges, edge)
		snap.Peers = append(snap.Peers, wire.Peer{Name: snap.Member, Signed: slices.Concat(blank[:], blank[:])})
	}
	if !c.NonPrivate {
		filter, err := dpmech.NewFilter(nil)
		if err == nil {
			err = filter.Reserve(1, c.Privacy)
		}
		if err != nil {
			return 0, err
		}
		snap.Filter = filter.State()
	}
	b, err := wire.AppendSnapshot(nil, &snap)
	n := int64(len(b)) + vectors*4*int64(c.Estimator.Dim-1)
	n += 4 * int64(c.Estimator.Memory())
	return n, err
}

// diskCost is what a node's state and ledger take, in bytes as they are handed to the file system: its journal and
// whole pages come on top. Numbers in text are taken to have the digits that most have.
type diskCost struct {
	Slots int64 `json:"slots"` // set aside: two slots, each for the longest state
	// written in a round of learning: state, a line of the log, one of the ledger, and its mark
	Round   int64 `json:"round"`
	Log     int64 `json:"log"`              // of these, the line of the log, which grows by it
	Ledger  int64 `json:"ledger"`           // and the line of the ledger, likewise, with its mark; 0 in a run that is not private
	Memory  int64 `json:"memory,omitempty"` // of each state, what the tracking estimator remembers
	Written int64 `json:"written"`          // in the whole run: what wears flash out
}

// NewDiskCost counts what a node with a store and, in a private run, a ledger writes for a state of so many bytes.
func NewDiskCost(f *sdk.Fleet, c admm.Config, size int64) diskCost {
	const hash = 64 // digits of a SHA-256
	self := f.Members[c.Estimator.Client]
	note := int64(len(`{"model_sha256":""}`) + hash)
	d := diskCost{Slots: state.DirSize(f.StateSize(self, c.Estimator.Samples))}
	if c.Estimator.Kind == zoest.Tracking {
		d.Memory = 4 * int64(c.Estimator.Memory())
	}
	if !c.NonPrivate {
		note += int64(len(`,"rho":0.1234567890123456`))
		clip, _ := json.Marshal(f.Privacy.Clip)
		sigma, _ := json.Marshal(f.Privacy.Sigma)
		line := len(`{"seq":12,"prev":"","run":"","fleet":"","member":"","round":12,"clip":,"sigma":}`) + 1 + 2*hash
		line += len(f.Run) + len(self) + len(clip) + len(sigma)
		if f.Privacy.PairSigma > 0 {
			shared, _ := json.Marshal(f.Privacy.Shared())
			line += len(`,"shared":`) + len(shared)
			note += int64(len(`,"rho_all":0.1234567890123456`))
		}
		d.Ledger = int64(line + len(`{"id":"","seq":12,"hash":""}`) + 1 + hash + hash/2 + 1 + hash)
	}
	d.Log = note + int64(len(`{"round":12,"digest":"","note":}`)+1+hash)
	const header = 64 // of a slot, with its digest
	calm := size + header + note + d.Log
	d.Round = calm + d.Ledger
	d.Written = int64(f.Method.Rounds)*d.Round + int64(f.Method.Last()-f.Method.Rounds)*calm
	return d
}

// Filling returns how many queries fill the table of a round.
func Filling(e zoest.Config) int64 {
	if e.Kind == zoest.Tracking {
		return 0
	}
	return int64(e.Samples)
}
