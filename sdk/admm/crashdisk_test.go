package admm

import (
	"fmt"

	"github.com/spade-dfl/spade-edge/dpmech"
)

// device is a node's disk: two slots, the ledger, with the entries of this run only, and the high-water mark.
type device struct {
	slots [2]record[*saved] // nil if a slot is empty or torn
	lines record[int]
	marks record[marked]
	frail file // the file that loses confirmed writes
}

// saved is the content of a slot: a state, and the number of ledger entries when it was saved.
type saved struct {
	State
	head int
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

// crash decides which unsynced writes survive. Those of a slot may also be torn, and a node that starts finds that out:
// see package state.
func (b *device) crash(w *world) {
	if b.lines.dirty && w.chance.IntN(2) == 0 {
		b.lines.sync()
	}
	if b.marks.dirty && w.chance.IntN(2) == 0 {
		b.marks.sync()
	}
	b.lines.dirty, b.marks.dirty = false, false
	for i := range b.slots {
		s := &b.slots[i]
		if s.dirty && !w.lying() {
			switch w.chance.IntN(4) {
			case 0: // lost
			case 1:
				s.sync()
			default:
				w.tally["torn"]++
				s.durable = nil
			}
		}
		s.dirty = false
	}
}

// validate decides whether a starting node may continue. It checks the ledger, the ledger's position in the state, and
// [dpmech.CheckResume]. If grace is true, validate skips CheckResume when the ledger has at most one entry more than
// the state. This models a program that already marks a release as possibly sent when it reserves the release.
func (b *device) validate(kept, head int, grace bool) error {
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
	back := func(s *record[*saved]) {
		if s.durable != nil {
			w.tally["set back"]++
			w.lostSlot = true
		}
		if s.durable = nil; w.chance.IntN(2) == 0 && len(s.past) > 0 {
			s.durable = s.past[len(s.past)-1]
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
			w.tally["set back"]++
			n.lines.durable = w.chance.IntN(n.lines.durable)
		}
	case markFile:
		if len(n.marks.past) > 0 {
			w.tally["set back"]++
			n.marks.durable = n.marks.past[w.chance.IntN(len(n.marks.past))]
		}
	}
	w.log("node %d loses some of file %d: %+v, %+v", n.id, n.frail, n.lines.durable, n.marks.durable)
}
