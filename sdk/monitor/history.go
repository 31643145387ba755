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

// historyReply is the history of a run, thinned if it is long: what /history serves.
type historyReply struct {
	Stride int     `json:"stride"` // every Stride-th round is kept, and the last one
	Points []Point `json:"points"` // by round, ascending; never null
}

// maxPoints is how many points a history holds at most.
const maxPoints = 512

// history collects the points of a run in bounded memory: when it is full, every second of its rounds is dropped.
type history struct {
	stride int
	points []Point // of rounds that stride divides
	last   Point   // the newest, of whatever round
}

// add takes in a round that is newer than all others.
func (h *history) add(p Point) {
	h.stride = max(h.stride, 1)
	if p.Round <= h.last.Round {
		return
	}
	h.last = p
	if p.Round%h.stride == 0 && len(h.points) == maxPoints-1 { // with last there are maxPoints
		h.stride *= 2
		h.points = slices.DeleteFunc(h.points, func(p Point) bool { return p.Round%h.stride != 0 })
	}
	if p.Round%h.stride == 0 {
		h.points = append(h.points, p)
	}
}

// set changes the points of a round, unless they have been thinned out.
func (h *history) set(round int, change func(p *Point)) {
	if h.last.Round == round && round > 0 {
		change(&h.last)
	}
	at, found := slices.BinarySearchFunc(h.points, round, func(p Point, round int) int { return p.Round - round })
	if found {
		change(&h.points[at])
	}
}

// snapshot returns a copy.
func (h *history) snapshot() historyReply {
	out := historyReply{Stride: max(h.stride, 1), Points: append([]Point{}, h.points...)}
	if n := len(h.points); h.last.Round > 0 && (n == 0 || h.points[n-1].Round != h.last.Round) {
		out.Points = append(out.Points, h.last)
	}
	return out
}
