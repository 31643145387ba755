package zoest

import "github.com/spade-dfl/spade-edge/zoest/setting"

// Kind determines what an [Estimator] remembers about each component. The estimate has the same conditional mean for
// every kind.
type Kind int

const (
	// Paper is the kind in the paper: the estimator remembers the latest row of each component and refills all rows in
	// each round.
	Paper Kind = iota
	// Tracking maintains a linear model of each component's loss across rounds and does not fill a table. The equations
	// are in the comment of the type tracking.
	Tracking
)

var kinds = setting.Choice{Of: "zoest: estimator", Names: []string{"paper", "tracking"}}

// String returns the name that files use for k: paper or tracking.
func (k Kind) String() string { return kinds.Name(int(k)) }

// MarshalText returns the name of k. It fails if k is not a valid kind.
func (k Kind) MarshalText() ([]byte, error) { return kinds.Text(int(k)) }

// UnmarshalText sets k to the kind with the given name. An empty name means Paper.
func (k *Kind) UnmarshalText(name []byte) error { return kinds.Parse((*int)(k), name) }

// Memory returns the number of values that persist across rounds, which is the length of [Estimator.Memory].
func (c Config) Memory() int {
	n := 0
	switch {
	case c.Kind == Tracking && c.Records:
		n = c.Samples * (c.Dim + 4)
	case c.Kind == Tracking:
		n = c.Samples*(c.Dim+3) + tails
	}
	if c.Momentum > 0 {
		n += c.Dim
	}
	return n
}
