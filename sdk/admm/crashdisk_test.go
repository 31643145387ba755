package admm

import (
	"fmt"

	"github.com/spade-dfl/spade-edge/dpmech"
)

// logs is what a node's disk holds besides the slots: the ledger, with the entries of this run only, and the high-water
// mark.
type logs struct {
	lines record[int]
	marks record[marked]
	frail file // the file that loses confirmed writes
}

// marked is the content of a high-water mark: the number of ledger entries, and the last round that may have been sent.
type marked struct{ lines, round int }

// record is a part of the disk that is written as a whole.
type record[T any] struct {
	durable, cached T
	dirty           bool
	past            []T // earlier durable contents
}

func (r *record[T]) write(content T) { r.cached, r.dirty = content, true }

func (r *record[T]) sync() {
	r.past = append(r.past, r.durable)
	r.durable, r.dirty = r.cached, false
}

type file int

const (
	noFile file = iota
	slotFile
	lineFile
	markFile
	stateFiles // both slots
	files
)

// crash decides which unsynced writes survive.
func (b *logs) crash(w *world) {
	if b.lines.dirty && w.chance.IntN(2) == 0 {
		b.lines.sync()
	}
	if b.marks.dirty && w.chance.IntN(2) == 0 {
		b.marks.sync()
	}
	b.lines.dirty, b.marks.dirty = false, false
}

// validate decides whether a starting node may continue. It checks the ledger, the ledger's position in the state, and
// [dpmech.CheckResume]. If grace is true, it models a program that marks a release already when it reserves the
// release: it skips CheckResume when the ledger has at most one entry more than the state.
func (b *logs) validate(kept, head int, grace bool) error {
	lines, m := b.lines.durable, b.marks.durable
	switch {
	case lines < m.lines:
		return fmt.Errorf("the ledger ends with reservation %d, but number %d was made", lines, m.lines)
	case lines < head:
		return fmt.Errorf("the ledger ends with reservation %d, and the state knows of %d", lines, head)
	case grace && lines <= kept+1:
		return nil
	}
	return dpmech.CheckResume(kept, lines, m.round)
}

func (w *world) lose(n *node) {
	back := func(s *slot) {
		if len(s.durable) > 0 {
			w.tally.setBack++
			w.lostSlot = true
		}
		s.durable = s.durable[:0]
		if w.chance.IntN(2) == 0 {
			s.durable = append(s.durable, s.before...)
		}
	}
	switch n.frail {
	case slotFile:
		back(&n.slots[w.chance.IntN(2)])
	case stateFiles:
		back(&n.slots[0])
		back(&n.slots[1])
	case lineFile:
		if n.lines.durable > 0 {
			w.tally.setBack++
			n.lines.durable = w.chance.IntN(n.lines.durable)
		}
	case markFile:
		if len(n.marks.past) > 0 {
			w.tally.setBack++
			n.marks.durable = n.marks.past[w.chance.IntN(len(n.marks.past))]
		}
	}
	w.log("node %d loses some of file %d: %+v, %+v", n.id, n.frail, n.lines.durable, n.marks.durable)
}
