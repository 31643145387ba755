package sealed

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spade-dfl/spade-edge/transport/internal/endpoint"
)

// Take processes a message. The parameter from is the tag of the member that, according to the broker, sent the
// message. If live is true, the broker also claims that the message was sent after this node started. When all pieces
// of a frame have arrived, Take delivers the frame. Take overwrites data and must not be called concurrently.
func (e *End) Take(from string, data []byte, live bool) {
	p := e.byTag[from]
	if p == nil {
		e.cfg.Logger.Debug("message from an unknown sender", "tag", from)
		return
	}
	p.mu.Lock()
	p.status.Received += int64(len(data))
	pins := p.pins
	p.mu.Unlock()
	v, err := parse(data)
	if err == nil {
		err = v.verify(&p.in, pins)
	}
	if err != nil {
		e.refuse(p, fmt.Errorf("from %q: %w", p.name, err))
		return
	}
	if p.window.seen(v.Process, v.Number) {
		return
	}
	if live { // the peer has sent the message since this node started, as far as the broker can be trusted
		p.mu.Lock()
		p.status.Heard = time.Now()
		p.mu.Unlock()
	}
	most := e.cfg.MaxFrame
	if v.Kind == kindHello {
		most = endpoint.MaxHello
	}
	switch {
	case int(v.Length) > most:
		err = fmt.Errorf("the frame has %d bytes, want at most %d", v.Length, most)
	case v.Kind == kindFrame && v.Fleet != e.cfg.Fleet:
		err = ErrFleet
	}
	if err != nil {
		err = fmt.Errorf("from %q: %w", p.name, err)
		if errors.Is(err, ErrFleet) {
			e.setRefused(p, fmt.Errorf("%s: %w", e.cfg.Prefix, err), live)
		}
		p.window.mark(v.Process, v.Number)
		e.refuse(p, err)
		return
	}
	piece, err := v.open(&p.in, e.exchange)
	if err != nil {
		e.refuse(p, fmt.Errorf("from %q: %w", p.name, err))
		return
	}
	frame := p.arriving.add(v.header, piece)
	if frame == nil {
		return
	}
	first := p.window.mark(v.Process, v.Number)
	p.mu.Lock()
	p.ring.heard()
	if v.Kind == kindHello && first {
		p.ring.expire()
	}
	p.mu.Unlock()
	if v.Kind == kindHello {
		e.takeHello(p, v.Process, frame, live)
		return
	}
	e.setRefused(p, nil, live)
	e.deliver(p.name, frame)
}

// deliver queues a frame for Recv unless an equal frame from the same peer is already queued. If the peer's window is
// full, deliver drops the oldest queued frame of the peer, as the broker does.
func (e *End) deliver(from string, frame []byte) {
	e.inbox.Edit(func(queue []endpoint.Item) []endpoint.Item {
		count, oldest := 0, -1
		for i, it := range queue {
			if it.From != from {
				continue
			}
			if bytes.Equal(it.Frame, frame) {
				return queue
			}
			if count++; oldest < 0 {
				oldest = i
			}
		}
		if count == window {
			queue = slices.Delete(queue, oldest, oldest+1)
		}
		return append(queue, endpoint.Item{From: from, Frame: frame})
	})
}

// takeHello checks a hello from a peer. If the peer started after this node, the peer has not received a live hello
// from this node yet, so takeHello schedules a hello.
func (e *End) takeHello(p *peer, process uint64, hello []byte, live bool) {
	err := e.cfg.CheckHello(p.name, hello)
	if err != nil {
		err = fmt.Errorf("hello from %q: %w", p.name, err)
		e.refuse(p, err)
		err = fmt.Errorf("%s: %w", e.cfg.Prefix, err)
	}
	e.setRefused(p, err, live)
	if live && p.greeted != process {
		p.greeted = process
		endpoint.Offer(p.hello, struct{}{})
	}
	if err == nil {
		endpoint.Offer(e.opened, p.name)
	}
}

// setRefused records why the hello or fleet in a message from a peer was refused, or, if err is nil, that the message
// was accepted. It does nothing unless the message is live, because an old message may be outdated.
func (e *End) setRefused(p *peer, err error, live bool) {
	if live {
		p.mu.Lock()
		p.status.Refused = err
		p.mu.Unlock()
	}
}

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
