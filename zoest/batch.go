package zoest

import "github.com/spade-dfl/spade-edge/zoest/rng"

// batch draws mini-batches: uniformly random subsets of a fixed size.
type batch struct {
	items []int // a permutation of 0..m-1
	swaps []int // the target of the i-th swap of the shuffle; its length is the batch size
}

func newBatch(m, size int) batch {
	b := batch{items: make([]int, m), swaps: make([]int, size)}
	for i := range b.items {
		b.items[i] = i
	}
	return b
}

// whole reports whether a batch contains all items. If so, the items are never shuffled.
func (b *batch) whole() bool { return len(b.swaps) == len(b.items) }

// all returns the items 0..m-1 in order. It undoes the previous shuffle, in time proportional to the batch size, so
// that each draw depends only on its address. The slice is valid until the next draw.
func (b *batch) all() []int {
	if b.whole() {
		return b.items
	}
	for i := len(b.swaps) - 1; i >= 0; i-- {
		b.swap(i)
	}
	clear(b.swaps)
	return b.items
}

// draw returns the batch that the stream determines, in the order of the draws. A batch of all items is in ascending
// order and consumes nothing from the stream. The slice is valid until the next draw.
func (b *batch) draw(s *rng.Stream) []int {
	if b.all(); b.whole() {
		return b.items
	}
	for i := range b.swaps {
		b.swaps[i] = s.IntN(len(b.items) - i)
		b.swap(i)
	}
	return b.items[:len(b.swaps)]
}

func (b *batch) swap(i int) {
	j := i + b.swaps[i]
	b.items[i], b.items[j] = b.items[j], b.items[i]
}
