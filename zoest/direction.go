package zoest

import (
	"github.com/spade-dfl/spade-edge/zoest/setting"
	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// Distribution is the distribution of the query directions u. All distributions satisfy Assumption 3 of the paper with
// c_u = 1 and R_u = sqrt(d): E u = 0, E uu' = I and |u| = sqrt(d).
type Distribution int

const (
	// Rademacher directions have independent coordinates +1 or -1 with equal probability.
	Rademacher Distribution = iota
	// Walsh directions of a stage are one random vector of signs times rows of a Hadamard matrix, in random order; each
	// row occurs once with each sign before any row repeats. Each direction by itself is a Rademacher direction.
	// Together the directions cover all axes evenly, and the common part of a stage's losses cancels. Dim is at most
	// 2^30.
	Walsh
)

var distributions = setting.Choice{Of: "zoest: directions", Names: []string{"rademacher", "walsh"}}

// String returns the name used in files: rademacher or walsh.
func (d Distribution) String() string { return distributions.Name(int(d)) }

// MarshalText returns the name. It fails if d is unknown.
func (d Distribution) MarshalText() ([]byte, error) { return distributions.Text(int(d)) }

// UnmarshalText parses a name; an empty name means Rademacher.
func (d *Distribution) UnmarshalText(name []byte) error { return distributions.Parse((*int)(d), name) }

// direction is a vector u of d coordinates +1 or -1, as packed signs.
type direction []uint64

// add adds a times a part of u to y. The part has the length of y and begins at the coordinate of u with the number
// from, a multiple of 64.
func (u direction) add(y []float32, from int, a float32) { vec.SignAxpy(y, a, u[from/64:]) }
