package monitor

import "slices"

// Point is what is known of one round. What was not measured is unknown, which is null in JSON.
type Point struct {
	Round          int     `json:"round"`
	Seconds        float64 `json:"seconds"` // since the monitor was made
	Epsilon        Value   `json:"epsilon"` // spent up to this round
	ConsensusError Value   `json:"consensus_error"`
	Loss           Value   `json:"loss"`     // in a private run not covered by the guarantee
	Accuracy       Value   `json:"accuracy"` // likewise; share in [0, 1]
}

// History is the course of a run, thinned if it is long: what /history serves.
type History struct {
	Stride int     `json:"stride"` // every Stride-th round is kept, and the last one
	Points []Point `json:"points"` // by round, ascending; never null
}

// MaxPoints is how many points a history holds at most.
const MaxPoints = 512

// history collects the points of a run in bounded memory: when it is full, every second of its rounds goes.
type history struct {
	stride int
	kept   []Point // of rounds that stride divides
	last   Point   // the newest, of whatever round
}

// add takes in a round that is newer than all others.
func (h *history) add(p Point) {
	h.stride = max(h.stride, 1)
	if p.Round <= h.last.Round {
		return
	}
	h.last = p
	if p.Round%h.stride != 0 {
		return
	}
	if len(h.kept) == MaxPoints-1 { // with last there are MaxPoints
		h.stride *= 2
		h.kept = slices.DeleteFunc(h.kept, func(p Point) bool { return p.Round%h.stride != 0 })
		if p.Round%h.stride != 0 {
			return
		}
	}
	h.kept = append(h.kept, p)
}

// set changes the points of a round, if they have not been thinned out.
func (h *history) set(round int, change func(p *Point)) {
	if h.last.Round == round && round > 0 {
		change(&h.last)
	}
	at, found := slices.BinarySearchFunc(h.kept, round, func(p Point, round int) int { return p.Round - round })
	if found {
		change(&h.kept[at])
	}
}

// snapshot returns a copy.
func (h *history) snapshot() History {
	out := History{Stride: max(h.stride, 1), Points: append([]Point{}, h.kept...)}
	if n := len(h.kept); h.last.Round > 0 && (n == 0 || h.kept[n-1].Round != h.last.Round) {
		out.Points = append(out.Points, h.last)
	}
	return out
}
