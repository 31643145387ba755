package sealed

import "slices"

const (
	processesKept = 8  // processes remembered for each peer
	numbersKept   = 64 // for each process: a frame this far behind the highest number counts as a repeat
)

// replays records which frames of a peer have arrived. This only saves work: processing a frame twice is harmless, and
// a restarted node starts with an empty record.
type replays struct {
	processes []*process // the most recently active is last
}

type process struct {
	id      uint64
	highest uint64 // highest number of a frame that has arrived
	arrived uint64 // bit i is set if frame highest-i has arrived
}

func (w *replays) find(id uint64) *process {
	i := slices.IndexFunc(w.processes, func(l *process) bool { return l.id == id })
	if i < 0 {
		return nil
	}
	l := w.processes[i]
	w.processes = append(slices.Delete(w.processes, i, i+1), l)
	return l
}

func (w *replays) seen(id, number uint64) bool {
	l := w.find(id)
	if l == nil || number > l.highest {
		return false
	}
	back := l.highest - number
	return back >= numbersKept || l.arrived>>back&1 == 1
}

// mark records the arrival of a frame. The parameters are the id of the sender's process and the number that this
// process gave the frame. first reports whether no frame from that process was recorded before.
func (w *replays) mark(id, number uint64) (first bool) {
	l := w.find(id)
	if l == nil {
		first = true
		if len(w.processes) == processesKept {
			w.processes = slices.Delete(w.processes, 0, 1)
		}
		l = &process{id: id}
		w.processes = append(w.processes, l)
	}
	if number > l.highest {
		l.arrived <<= number - l.highest
		l.highest = number
	}
	l.arrived |= 1 << (l.highest - number) // a frame further back than numbersKept leaves no trace
	return first
}

// partial is a frame that is still missing some of its pieces.
type partial struct {
	header
	frame   []byte
	has     []bool
	missing int
}

const partialsKept = 2 // for each peer: the frame that is arriving, and one that may never be completed

// assembly reassembles a peer's frames from pieces.
type assembly struct {
	partials []*partial // the most recently extended is last
}

// add copies a piece into its frame. If the frame is now complete, add returns it; otherwise it returns nil.
func (a *assembly) add(h header, piece []byte) []byte {
	if h.Total == 1 {
		return slices.Clone(piece)
	}
	p := &partial{header: h, missing: int(h.Total)}
	i := slices.IndexFunc(a.partials, func(q *partial) bool {
		return q.Process == h.Process && q.Number == h.Number && q.Kind == h.Kind && q.Length == h.Length && q.Total == h.Total
	})
	if i >= 0 {
		p = a.partials[i]
		a.partials = slices.Delete(a.partials, i, i+1)
	} else {
		p.frame, p.has = make([]byte, h.Length), make([]bool, h.Total)
	}
	if !p.has[h.Index] {
		from, _ := h.piece()
		copy(p.frame[from:], piece)
		p.has[h.Index] = true
		p.missing--
	}
	if p.missing == 0 {
		return p.frame
	}
	if len(a.partials) == partialsKept {
		a.partials = slices.Delete(a.partials, 0, 1)
	}
	a.partials = append(a.partials, p)
	return nil
}
