package zoest

import (
	"github.com/spade-dfl/spade-edge/zoest/rng"
	"github.com/spade-dfl/spade-edge/zoest/setting"
	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// Distribution is a distribution of the query directions u. Every distribution satisfies Assumption 3 of the paper with
// c_u = 1 and R_u = sqrt(d): E u = 0, E uu' = I and |u| = sqrt(d).
type Distribution int

const (
	// Rademacher directions have independent coordinates that are +1 or -1 with equal probability.
	Rademacher Distribution = iota
	// Walsh directions are the rows of a Hadamard matrix in random order, multiplied by a random sign vector that the
	// whole stage shares. Each row occurs once with each sign before any row repeats. Each single direction has the
	// same distribution as a Rademacher direction. Together, the directions cover all axes evenly, and the common part
	// of the losses in a stage cancels. Dim must be at most 2^30.
	Walsh
)

var distributions = setting.Choice{Of: "zoest: directions", Names: []string{"rademacher", "walsh"}}

// String returns the name that files use for d: rademacher or walsh.
func (d Distribution) String() string { return distributions.Name(int(d)) }

// MarshalText returns the name of d. It fails if d is not a valid distribution.
func (d Distribution) MarshalText() ([]byte, error) { return distributions.Text(int(d)) }

// UnmarshalText sets d to the distribution with the given name. An empty name means Rademacher.
func (d *Distribution) UnmarshalText(name []byte) error { return distributions.Parse((*int)(d), name) }

// direction is a vector u of d coordinates that are +1 or -1, stored as packed signs.
type direction []uint64

// add adds a multiple of some coordinates of u to y: y[i] += a*u[from+i]. from must be a multiple of 64.
func (u direction) add(y []float32, from int, a float32) { vec.SignAxpy(y, a, u[from/64:]) }

// source draws the directions of a stage.
type source interface {
	begin(s stage)
	// draw sets the first directions of a to those of the given components, which are the stage's from number first on.
	draw(a *answers, first int, components []int)
}

func newSource(cfg Config, most int) source {
	switch {
	case cfg.Directions == Rademacher:
		return &independent{
			fills: rng.NewFamily(cfg.Seed, rng.Table, cfg.Client), steps: rng.NewFamily(cfg.Seed, rng.Step, cfg.Client),
		}
	case cfg.Records:
		return newRecordWalsh(cfg, most)
	}
	return newWalsh(cfg, most)
}

// independent draws [Rademacher] directions, each at an address of its own.
type independent struct {
	fills, steps rng.Family
	stage
}

func (s *independent) begin(at stage) { s.stage = at }

func (s *independent) draw(a *answers, _ int, components []int) {
	family := &s.steps
	if s.filling {
		family = &s.fills
	}
	family.Fill(a.signsOf(0, len(components)), s.round, s.step, components)
}
