package sealed

import (
	"crypto/sha256"
	"time"
)

// ring knows what the broker stores for a peer. The broker has a few places for each edge, and a frame that is sent
// again goes into the same place. So repeats for a sleeping peer do not push out what the peer needs first; they get
// rarer as long as nothing comes from the peer.
type ring struct {
	places [window]place
	uses   uint64

	repeatMin, repeatMax time.Duration
}

// place is one of the places of an edge at the broker.
type place struct {
	sum  [sha256.Size]byte // of the frame
	used uint64            // when in order; 0 if nothing is there
	at   time.Time         // of the last time that the broker confirmed to have it
	gap  time.Duration     // until it may be given again
}

// find returns the place of a frame, and whether it is due: not if the broker has confirmed it a short while ago.
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

// again returns, of a frame that is in its place already, the gap that begins when it has been stored there once more, and
// 0 of any other.
func (r *ring) again(n int, sum [sha256.Size]byte) time.Duration {
	if p := &r.places[n]; p.used > 0 && p.sum == sum {
		return min(max(2*p.gap, r.repeatMin), r.repeatMax)
	}
	return 0
}

// stored notes that the broker has a frame, or has it again.
func (r *ring) stored(n int, sum [sha256.Size]byte, now time.Time) {
	r.uses++
	p := &r.places[n]
	gap := max(r.again(n, sum), r.repeatMin)
	*p = place{sum: sum, used: r.uses, at: now, gap: gap}
}

// heard notes that the peer is awake.
func (r *ring) heard() {
	for i := range r.places {
		r.places[i].gap = min(r.places[i].gap, r.repeatMin)
	}
}

// expire notes that the broker may have lost everything: all of it may be given again at once.
func (r *ring) expire() {
	for i := range r.places {
		r.places[i].gap = 0
	}
}
