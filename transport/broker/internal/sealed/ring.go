package sealed

import (
	"crypto/sha256"
	"time"
)

// ring tracks which frames for a peer the broker stores. For each edge, the broker has a few places, and each place
// holds one frame. A repeated frame goes into its old place, so repeats for a sleeping peer do not displace other
// frames that the peer needs. The time between repeats grows while no message arrives from the peer.
type ring struct {
	places [window]place
	uses   uint64

	repeatMin, repeatMax time.Duration
}

// place describes the frame in one of the places that the broker has for an edge.
type place struct {
	sum  [sha256.Size]byte // of the frame
	used uint64            // sequence number of the last use; 0 if the place is empty
	at   time.Time         // when the broker last confirmed the frame
	gap  time.Duration     // minimum time until the frame is repeated
}

// find returns the place n of the frame with the given hash or, if no place holds it, the least recently used place.
// due is false if the broker confirmed the frame so recently that it must not be sent again yet.
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

// again returns the time to wait between the next repeat of the frame in place n and the repeat after that. It returns
// 0 if place n does not hold the frame with the given hash.
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

// heard records that a message arrived from the peer, which makes repeats frequent again.
func (r *ring) heard() {
	for i := range r.places {
		r.places[i].gap = min(r.places[i].gap, r.repeatMin)
	}
}

// expire records that the broker may have lost all frames, so that each frame may be repeated at once.
func (r *ring) expire() {
	for i := range r.places {
		r.places[i].gap = 0
	}
}
