package zoest

import "github.com/spade-dfl/spade-edge/zoest/rng"

// batch draws mini-batches: subsets of fixed size, uniform and without replacement.
type batch struct {
	items []int // a permutation of 0..m-1
	swaps []int // how far the i-th step of the shuffle reached
	size  int
}

func newBatch(m, size int) batch {
	b := batch{items: make([]int, m), swaps: make([]int, size), size: size}
	for i := range b.items {
		b.items[i] = i
	}
	return b
}

// all returns 0..m-1. It undoes the previous shuffle, last swap first, so that a draw depends on its address alone, at
// a cost of O(size). The slice is valid until the next draw.
func (b *batch) all() []int {
	for i := b.size - 1; i >= 0; i-- {
		b.swap(i)
	}
	clear(b.swaps)
	return b.items
}

// draw returns the batch at the start of a stream, in the order drawn. A batch of everything is in ascending order and
// draws nothing. The slice is valid until the next draw.
func (b *batch) draw(s rng.Stream) []int {
	if b.all(); b.size == len(b.items) {
		return b.items
	}
	for i := range b.swaps {
		b.swaps[i] = s.IntN(len(b.items) - i)
		b.swap(i)
	}
	return b.items[:b.size]
}

func (b *batch) swap(i int) {
	j := i + b.swaps[i]
	b.items[i], b.items[j] = b.items[j], b.items[i]
}
