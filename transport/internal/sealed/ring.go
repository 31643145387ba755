package sealed

import (
	"crypto/sha256"
	"time"
)

// ring tracks which frames the broker stores for a peer. The broker has a few places for each edge. A repeated frame
// goes into the place that it already has, so repeats for a sleeping peer do not displace the frames that the peer
// needs first. While nothing arrives from the peer, the time between repeats grows.
type ring struct {
	places [window]place
	uses   uint64

	repeatMin, repeatMax time.Duration
}

// place is one of the places of an edge at the broker.
type place struct {
	sum  [sha256.Size]byte // of the frame
	used uint64            // sequence number of the last use; 0 if the place is empty
	at   time.Time         // when the broker last confirmed the frame
	gap  time.Duration     // minimum time until the frame is repeated
}

// find returns the place n that holds the frame with hash sum or, if none does, the least recently used place. due
// reports whether to send the frame: false only if the broker confirmed it less than the place's gap ago.
func (r *ring) find(sum [sha256.Size]byte, now time.Time) (n int, due bool) {
	for i := range r.places {
		p := &r.places[i]
		if p.used > 0 && p.sum == sum {
			return i, now.Sub(p.at) >= p.gap
		}
		if p.used < r.places[n].used {
			n = i
		}
	}
	return n, true
}

// again returns the gap that begins if the frame is now sent again to its place n, or 0 if that place does not hold the
// frame.
func (r *ring) again(n int, sum [sha256.Size]byte) time.Duration {
	if p := &r.places[n]; p.used > 0 && p.sum == sum {
		return min(max(2*p.gap, r.repeatMin), r.repeatMax)
	}
	return 0
}

func (r *ring) stored(n int, sum [sha256.Size]byte, now time.Time) {
	r.uses++
	p := &r.places[n]
	gap := max(r.again(n, sum), r.repeatMin)
	*p = place{sum: sum, used: r.uses, at: now, gap: gap}
}

// heard records that a message arrived from the peer, so repeats become frequent again.
func (r *ring) heard() {
	for i := range r.places {
		r.places[i].gap = min(r.places[i].gap, r.repeatMin)
	}
}

// expire records that the broker may have lost everything. All frames may then be repeated at once.
func (r *ring) expire() {
	for i := range r.places {
		r.places[i].gap = 0
	}
}
