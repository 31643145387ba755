package nats

const (
	livesKept   = 8    // of a peer: how many of its processes are remembered
	numbersKept = 1024 // of a life: a frame that is further behind the newest counts as a repeat
)

// replays remembers which frames of a peer have arrived. It saves work. That a repeat does no harm does not rest on it: a node that
// starts again has forgotten everything, and what the broker has is the peer's own word, once said and still true.
type replays struct {
	lives []*life // the one that was heard last comes last
}

type life struct {
	id      uint64
	highest uint64
	bits    [numbersKept / 64]uint64 // by number modulo numbersKept
}

// find returns what is known of a life, nil if nothing is.
func (w *replays) find(id uint64) *life {
	for i, l := range w.lives {
		if l.id == id {
			copy(w.lives[i:], w.lives[i+1:])
			w.lives[len(w.lives)-1] = l
			return l
		}
	}
	return nil
}

// seen reports whether a frame has arrived before.
func (w *replays) seen(id, number uint64) bool {
	l := w.find(id)
	if l == nil || number > l.highest {
		return false
	}
	if l.highest-number >= numbersKept {
		return true
	}
	bit := number % numbersKept
	return l.bits[bit/64]>>(bit%64)&1 == 1
}

// mark notes that a frame has arrived, and reports whether it is the first of its life.
func (w *replays) mark(id, number uint64) (first bool) {
	l := w.find(id)
	if l == nil {
		first = true
		if len(w.lives) == livesKept {
			w.lives = append(w.lives[:0], w.lives[1:]...)
		}
		l = &life{id: id}
		w.lives = append(w.lives, l)
	}
	if number > l.highest {
		if number-l.highest >= numbersKept {
			clear(l.bits[:])
		} else {
			for n := l.highest + 1; n < number; n++ {
				l.bits[n%numbersKept/64] &^= 1 << (n % 64)
			}
		}
		l.highest = number
	} else if l.highest-number >= numbersKept {
		return first
	}
	l.bits[number%numbersKept/64] |= 1 << (number % 64)
	return first
}

// partial is a frame of which pieces are missing.
type partial struct {
	header
	frame   []byte
	has     []bool
	missing int
}

const partialsKept = 2 // of a peer: the frame that is arriving, and one whose rest may never come

// assembly puts the pieces of a peer's frames together.
type assembly struct {
	partials []*partial // the one that grew last comes last
}

// add takes in a piece, which is copied, and returns its frame once that is whole.
func (a *assembly) add(h header, piece []byte) []byte {
	if h.total == 1 {
		return append(make([]byte, 0, len(piece)), piece...)
	}
	var p *partial
	for i, q := range a.partials {
		if q.life == h.life && q.number == h.number && q.length == h.length && q.total == h.total && q.kind == h.kind {
			p = q
			a.partials = append(a.partials[:i], a.partials[i+1:]...)
			break
		}
	}
	if p == nil {
		p = &partial{header: h, frame: make([]byte, h.length), has: make([]bool, h.total), missing: h.total}
	}
	if !p.has[h.index] {
		from, _ := h.piece()
		copy(p.frame[from:], piece)
		p.has[h.index] = true
		p.missing--
	}
	if p.missing == 0 {
		return p.frame
	}
	if len(a.partials) == partialsKept {
		a.partials = append(a.partials[:0], a.partials[1:]...)
	}
	a.partials = append(a.partials, p)
	return nil
}
