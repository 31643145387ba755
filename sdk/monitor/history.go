package monitor

import (
	"slices"

	"github.com/spade-dfl/spade-edge/sdk"
)

// Point is the record of one round. A value that was not measured is [Unknown], which is null in JSON.
type Point struct {
	Round          int     `json:"round"`
	Seconds        float64 `json:"seconds"` // time since the monitor was created
	Epsilon        Value   `json:"epsilon"` // epsilon spent up to this round
	ConsensusError Value   `json:"consensus_error"`
	Loss           Value   `json:"loss"`     // not covered by the privacy guarantee
	Accuracy       Value   `json:"accuracy"` // share in [0, 1]; not covered by the privacy guarantee
}

const maxPoints = 512

// history is the content of /history: the points of a run in bounded memory. When the history is full, it drops every
// second round and doubles Stride.
type history struct {
	Stride int     `json:"stride"` // Points has every Stride-th round, and the last round
	Points []Point `json:"points"` // in ascending order of rounds; never null in a snapshot
}

// add appends the point of a round, which must be newer than all rounds so far.
func (h *history) add(p Point) {
	h.Stride = max(h.Stride, 1)
	if n := len(h.Points); n > 0 {
		if p.Round <= h.Points[n-1].Round {
			return
		}
		if h.Points[n-1].Round%h.Stride != 0 { // the last point was kept only because it was the newest point
			h.Points = h.Points[:n-1]
		}
	}
	if p.Round%h.Stride == 0 && len(h.Points) == maxPoints-1 {
		h.Stride *= 2
		h.Points = slices.DeleteFunc(h.Points, func(p Point) bool { return p.Round%h.Stride != 0 })
	}
	h.Points = append(h.Points, p)
}

// set calls change for the point of a round, unless the history no longer has a point of that round.
func (h *history) set(round int, change func(p *Point)) {
	at, found := slices.BinarySearchFunc(h.Points, round, func(p Point, round int) int { return p.Round - round })
	if found {
		change(&h.Points[at])
	}
}

func (h *history) snapshot() history {
	return history{max(h.Stride, 1), append([]Point{}, h.Points...)}
}

// mixed reports whether no mixing rounds follow the given release in its learning round: the release is the last of its
// learning round, or belongs to the cool-down.
func mixed(f *sdk.Fleet, release int) bool {
	return release > f.Method.Learning() || release%(1+f.Method.Mixing) == 0
}
