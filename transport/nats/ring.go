package nats

import (
	"crypto/sha256"
	"time"
)

// ring knows what lies at the broker for a peer. The broker has a few places for each edge, and a frame that is sent again goes
// where it went before: so a node that repeats itself while its peer sleeps does not push out what the peer needs first, and
// as long as the peer is silent, repeats get rarer.
type ring struct {
	places [window]place
	uses   uint64
	timing *timing
}

// place is one that the broker keeps for an edge.
type place struct {
	sum  [sha256.Size]byte // of the frame
	used uint64            // when in order; 0 if nothing is there
	at   time.Time         // of the last time that the broker confirmed to have it
	gap  time.Duration     // until it may be given again
}

// find returns where a frame goes, and whether it has to go there: not if the broker has just had it.
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

// lay notes that the broker has a frame, or has it again.
func (r *ring) lay(n int, sum [sha256.Size]byte, now time.Time) {
	r.uses++
	p := &r.places[n]
	gap := r.timing.repeatMin
	if p.used > 0 && p.sum == sum {
		gap = min(2*p.gap, r.timing.repeatMax)
	}
	*p = place{sum: sum, used: r.uses, at: now, gap: gap}
}

// heard says that the peer is awake.
func (r *ring) heard() {
	for i := range r.places {
		r.places[i].gap = min(r.places[i].gap, r.timing.repeatMin)
	}
}

// doubt says that what was laid may be gone: all of it may be given again at once.
func (r *ring) doubt() {
	for i := range r.places {
		r.places[i].gap = 0
	}
}
