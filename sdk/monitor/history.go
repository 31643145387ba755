package monitor

import (
	"slices"

	"github.com/spade-dfl/spade-edge/sdk"
)

// Point is what is known of one round. What was not measured is unknown, which is null in JSON.
type Point struct {
	Round          int     `json:"round"`
	Seconds        float64 `json:"seconds"` // since the monitor was made
	Epsilon        Value   `json:"epsilon"` // spent up to this round
	ConsensusError Value   `json:"consensus_error"`
	Loss           Value   `json:"loss"`     // in a private run not covered by the guarantee
	Accuracy       Value   `json:"accuracy"` // likewise; share in [0, 1]
}

// maxPoints is how many points a history holds at most.
const maxPoints = 512

// history is what /history serves: the points of a run in bounded memory. When it is full, every second of its rounds
// is dropped.
type history struct {
	Stride int     `json:"stride"` // every Stride-th round is kept, and the last one
	Points []Point `json:"points"` // by round, ascending; never null in a snapshot
}

// add takes in a round that is newer than all others.
func (h *history) add(p Point) {
	h.Stride = max(h.Stride, 1)
	if n := len(h.Points); n > 0 {
		if p.Round <= h.Points[n-1].Round {
			return
		}
		if h.Points[n-1].Round%h.Stride != 0 { // it was kept as the last one
			h.Points = h.Points[:n-1]
		}
	}
	if p.Round%h.Stride == 0 && len(h.Points) == maxPoints-1 {
		h.Stride *= 2
		h.Points = slices.DeleteFunc(h.Points, func(p Point) bool { return p.Round%h.Stride != 0 })
	}
	h.Points = append(h.Points, p)
}

// set changes the point of a round, unless it has been dropped.
func (h *history) set(round int, change func(p *Point)) {
	at, found := slices.BinarySearchFunc(h.Points, round, func(p Point, round int) int { return p.Round - round })
	if found {
		change(&h.Points[at])
	}
}

// snapshot returns a copy.
func (h *history) snapshot() history {
	return history{max(h.Stride, 1), append([]Point{}, h.Points...)}
}

// mixed reports whether what members hold after a release is what the method goes on with: no rounds of mixing follow.
func mixed(f *sdk.Fleet, release int) bool {
	return release > f.Method.Learning() || release%(1+f.Method.Mixing) == 0
}
