package main

import (
	"crypto/ed25519"
	"math"
	"slices"
	"strings"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/sdk/wire"
	"github.com/spade-dfl/spade-edge/zoest"
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// frames are the lengths in bytes of what a node sends to one neighbor.
type frames struct {
	Learning int64 `json:"learning"` // a round of learning
	Cooldown int64 `json:"cooldown"` // a round of cool-down
	Done     int64 `json:"done"`     // the last word
}

// sampled is how many coordinates of a frame are really encoded; a longer one is taken to be proportional.
const sampled = 100_000

// signedBlank returns a message as a node with a key sends it, for its length: what is signed is left blank.
func signedBlank(msg admm.Message) admm.Message {
	switch msg.Kind {
	case admm.EdgeMessage, admm.Release:
		msg.Signed.Own = blank[:]
	case admm.Done:
		msg.Signed.Proof, msg.Signed.Countersign = blank[:], blank[:ed25519.SignatureSize]
	}
	return msg
}

var blank [signed.Size]byte

// newFrames encodes frames like those of the run: normal numbers, which is what noise makes of a model. steps is the standard
// deviation of what a release on the grid carries, in steps of the grid.
func newFrames(f *sdk.Fleet, cfg admm.Config, steps float64) (frames, error) {
	d := min(f.Dim, sampled)
	codec, err := wire.NewCodec(d)
	if err != nil {
		return frames{}, err
	}
	length := func(msg admm.Message) int64 {
		msg = signedBlank(msg)
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
	plain := admm.Message{Kind: kind, Round: f.Method.Rounds, Vector: numbers}
	out := frames{Cooldown: whole(plain), Done: length(admm.Message{Kind: admm.Done, Round: f.Method.Rounds})}
	out.Learning = out.Cooldown
	if cfg.Releases && cfg.GridStep > 0 {
		grid := make([]int32, d)
		for i := range grid {
			grid[i] = int32(math.RoundToEven(s.Normal() * steps))
		}
		out.Learning = whole(admm.Message{Kind: kind, Round: f.Method.Rounds, Grid: grid})
	}
	return out, err
}

// memory is what a node's numbers take, in bytes: not the program itself, about 10 MB, its connections, its oracle or frames on
// their way.
type memory struct {
	Table      int64 `json:"table"`      // a row for each sample
	Estimator  int64 `json:"estimator"`  // the rest of the estimator
	Machine    int64 `json:"machine"`    // model, local iterate, penalty, noise, and z and messages of every neighbor
	Node       int64 `json:"node"`       // what others see of the model, a frame decoded, and 8 KiB of small things
	Checkpoint int64 `json:"checkpoint"` // the state as it is kept, encoded
	Total      int64 `json:"total"`
}

// newMemory counts as [zoest.Estimator] and [admm.Machine] say, for an oracle that is asked one query at a time.
func newMemory(c admm.Config, checkpoint int64) memory {
	d, m := int64(c.Estimator.Dim), int64(c.Estimator.Samples)
	b := int64(c.Estimator.Batch)
	if b == 0 {
		b = m
	}
	mem := memory{Table: 4 * m * d, Checkpoint: checkpoint}
	mem.Estimator = 2*4*d + 4*d // v and abar, and the query's point
	switch {
	case c.Estimator.Directions == zoest.Sphere:
		mem.Estimator += 4 * d
	default:
		mem.Estimator += 8 * d / 8 // eight of signs
	}
	mem.Estimator += 8 * (m + b) // the draw of a batch, with integers of 64 bits
	if c.Estimator.Seeded {
		mem.Table = 8 * m
		mem.Estimator += 2*4*d + d/8 // a row made whole, twice, and its direction
	}
	if c.Estimator.Centered {
		mem.Estimator += 4 * m
	}
	deg := int64(len(c.Neighbors))
	mem.Machine = 4*4*d + deg*5*4*d
	if c.Releases {
		mem.Machine = 4*4*d + deg*4*4*d
		if deg > 0 {
			mem.Machine += 2 * 4 * d
		}
	}
	if c.GridStep > 0 {
		mem.Machine += 4 * d
		if c.Releases {
			mem.Machine += deg * 4 * d
		}
	}
	if !c.NonPrivate {
		mem.Machine += 8 * d
	}
	if c.Average {
		mem.Machine += 4 * d
	}
	mem.Node = 2*4*d + 8<<10
	if c.Average {
		mem.Node += 4 * d
	}
	mem.Total = mem.Table + mem.Estimator + mem.Machine + mem.Node + mem.Checkpoint
	return mem
}

// checkpointSize returns the length of the encoded state. Everything in it but the vectors is measured on a model of one
// number: with the vectors' own lengths it takes a few bytes more.
func checkpointSize(c admm.Config) (int64, error) {
	x, grid := []float32{0}, []int32(nil)
	snap := wire.Snapshot{Member: strings.Repeat("m", 8), Build: strings.Repeat("b", 24), Signed: blank[:]}
	s := &snap.State
	s.X = x
	vectors := int64(1)
	if c.GridStep > 0 {
		grid = []int32{0}
		s.Grid = grid
		vectors++
		if c.Releases {
			s.Delta = grid
			vectors++
		}
	}
	if c.Average {
		s.Mean = x
		vectors++
	}
	for range c.Neighbors {
		e := admm.EdgeState{Z: x}
		vectors++
		if c.Releases {
			e.PeerZ = x
			vectors++
			if c.GridStep > 0 {
				e.Base = grid
				vectors++
			}
		}
		s.Edges = append(s.Edges, e)
		snap.Peers = append(snap.Peers, wire.Peer{Name: snap.Member, Signed: slices.Concat(blank[:], blank[:])})
	}
	if !c.NonPrivate {
		filter, err := dpmech.NewFilter(nil)
		if err != nil {
			return 0, err
		}
		if err := filter.Reserve(1, c.Privacy[0]); err != nil {
			return 0, err
		}
		snap.Filter = filter.State()
	}
	b, err := wire.AppendSnapshot(nil, &snap)
	n := int64(len(b)) + vectors*4*int64(c.Estimator.Dim-1)
	if c.Estimator.Centered {
		n += 4 * int64(c.Estimator.Samples)
	}
	return n, err
}
