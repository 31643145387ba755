package wire

import (
	"math/bits"

	"github.com/klauspost/compress/huff0"
)

// huffSizer tells what huff0 makes of a block by its length alone: it builds the same Huffman code, and writes nothing.
// It repeats decisions of the library, which a test compares; what it does not repeat it leaves to the library. The
// zero value is ready.
type huffSizer struct {
	count  [256]uint32
	leaves [2][256]leaf // for sorted
	nodes  [513]uint32  // how often they come: leaves with the rarest first, a mark, inner nodes, a mark
	parent [513]uint16
	depth  [513]uint8
	weight [256]uint8 // of each symbol: 0 if there is none, else by how many bits its code is shorter than deepest+1
	hist   [16]uint32 // of the weights
	fse    fseSizer

	evenness
}

// leaf is a symbol, and 256 times as much as its count.
type leaf uint32

func (l leaf) symbol() uint8 { return uint8(l) }
func (l leaf) count() uint32 { return uint32(l >> 8) }

// size returns the length of what huff0.Compress4X makes of a block of huffLeast bytes or more, or its error. It may
// also report huff0.ErrIncompressible of a block that gets shorter by two bytes or less, which a block has no use for.
// It returns -1 if it cannot tell.
func (h *huffSizer) size(block []byte) (int, error) {
	n := len(block)
	clear(h.count[:])
	for _, b := range block {
		h.count[b]++
	}
	last := 255
	for h.count[last] == 0 {
		last--
	}
	leaves, most := h.gather()
	switch {
	case most == n:
		return 0, huff0.ErrUseRLE
	case most == 1 || most < n>>7:
		return 0, huff0.ErrIncompressible
	}
	h.counts(leaves, most)
	total := h.code(leaves)
	deepest := int(h.depth[0])
	if most := min(11, max(5, bits.Len(uint(n-1))-2, min(bits.Len(uint(n)), bits.Len(uint(last))+1))); deepest > most {
		deepest, total = most, h.flatten(leaves, most)
	}
	h.tally(leaves, last, deepest)
	// The lengths of three of four streams, and these, each with a bit that ends it.
	least := 6 + (total+4+7)/8
	table := h.fse.size(last, h.hist[:deepest+1], min((last+1)/2, n-3-least), func() []uint8 {
		h.weigh(leaves, most, last, deepest)
		return h.weight[:last]
	})
	switch {
	case table == fseUnknown:
		return -1, nil
	case table > 0:
		table++
	case last > 128:
		return 0, huff0.ErrIncompressible
	default:
		table = 1 + (last+1)/2 // four bits each
		h.weigh(leaves, most, last, deepest)
	}
	if table+least+2 >= n {
		return 0, huff0.ErrIncompressible
	}
	size := table + 6
	for quarter := (n + 3) / 4; len(block) > 0; {
		part := block[:min(quarter, len(block))]
		block = block[len(part):]
		sum := (deepest + 1) * len(part)
		for _, b := range part {
			sum -= int(h.weight[b])
		}
		size += sum/8 + 1
	}
	return size, nil
}

// gather sets leaves[0] to the symbols of the histogram, from the highest down. It returns how many these are, and how
// often the most frequent comes.
func (h *huffSizer) gather() (n, most int) {
	list, top := &h.leaves[0], uint32(0)
	for s := 255; s > 0; s -= 4 {
		a, b, c, d := h.count[s], h.count[s-1], h.count[s-2], h.count[s-3]
		if a|b|c|d == 0 {
			continue
		}
		for i, c := range [4]uint32{a, b, c, d} {
			list[n&255] = leaf(c<<8 | uint32(s-i))
			n += int(-c >> 31) // 1 unless c is 0: a branch would be guessed wrong too often
			top = max(top, c)
		}
	}
	return n, int(top)
}

// counts sets the first nodes to the counts of the n leaves, the greatest of which is most, the least first.
func (h *huffSizer) counts(n, most int) {
	const few = 64
	if n <= fewLeaves || most >= few {
		for i, l := range h.sorted(n, most) {
			h.nodes[i] = l.count()
		}
		return
	}
	var times [2][few]int // in two parts: a processor waits for a number that it has just stored
	for i, l := range h.leaves[0][:n] {
		times[i&1][l.count()%few]++
	}
	at := 0
	for c := 1; c <= most; c++ {
		for range times[0][c] + times[1][c] {
			h.nodes[at] = uint32(c)
			at++
		}
	}
}

// fewLeaves is how many leaves are sorted one by one.
const fewLeaves = 24

// sorted returns the n leaves, the greatest of whose counts is most, the rarest first, equally rare ones from the highest
// down. It may be called again.
func (h *huffSizer) sorted(n, most int) []leaf {
	list, other := &h.leaves[0], &h.leaves[1]
	if n <= fewLeaves {
		for i := 1; i < n; i++ {
			l, at := list[i], i
			for ; at > 0 && list[at-1].count() > l.count(); at-- {
				list[at] = list[at-1]
			}
			list[at] = l
		}
		return list[:n]
	}
	for shift := 0; most>>shift > 0; shift += 4 {
		var at [17]int
		for _, l := range list[:n] {
			at[l.count()>>shift&15+1]++
		}
		for i := range 15 {
			at[i+1] += at[i]
		}
		for _, l := range list[:n] {
			digit := l.count() >> shift & 15
			other[at[digit]&255] = l
			at[digit]++
		}
		list, other = other, list
	}
	return list[:n]
}

// code sets the depths of the leaves, the first n nodes, two or more, in their Huffman tree. It returns the bits of the
// whole block.
func (h *huffSizer) code(n int) (total int) {
	const mark = 1 << 30 // is of no node
	h.nodes[n], h.nodes[n+1] = 2*mark, mark
	leaf, inner, root := 0, n+1, 2*n-1
	for node := n + 1; node <= root; node++ {
		sum := uint32(0)
		for range 2 {
			at := inner
			if h.nodes[leaf] < h.nodes[inner] {
				at = leaf
				leaf++
			} else {
				inner++
			}
			h.parent[at] = uint16(node)
			sum += h.nodes[at]
		}
		h.nodes[node], h.nodes[node+1] = sum, mark
		total += int(sum)
	}
	h.depth[root] = 0
	for i := root - 1; i >= 0; i-- {
		h.depth[i] = h.depth[h.parent[i]] + 1
	}
	return total
}

// flatten brings the depths of n leaves down to most as huff0 does. It returns the bits of the whole block.
func (h *huffSizer) flatten(n, most int) (total int) {
	count, depth := h.nodes[:n], h.depth[:n]
	debt, up, i := 0, int(depth[0])-most, 0 // debt is in leaves of depth most
	for ; int(depth[i]) > most; i++ {
		debt += 1<<up - 1<<(up+most-int(depth[i]))
		depth[i] = uint8(most)
	}
	for debt >>= up; int(depth[i]) == most; i++ {
	}
	const none = -1
	rarest := [13]int{none, none, none, none, none, none, none, none, none, none, none, none, none} // by most-depth
	for at, least := i, most; at < n; at++ {
		if d := int(depth[at]); d < least {
			least = d
			rarest[most-d] = at
		}
	}
	for debt > 0 {
		d := bits.Len(uint(debt))
		for ; d > 1; d-- {
			high, low := rarest[d], rarest[d-1]
			if high != none && (low == none || count[high] <= 2*count[low]) {
				break
			}
		}
		for d <= 11 && rarest[d] == none {
			d++
		}
		debt -= 1 << (d - 1)
		at := rarest[d]
		if rarest[d-1] == none {
			rarest[d-1] = at
		}
		depth[at]++
		if rarest[d] = at + 1; at+1 == n || int(depth[at+1]) != most-d {
			rarest[d] = none
		}
	}
	for ; debt < 0; debt++ {
		if rarest[1] == none {
			for int(depth[i]) == most {
				i++
			}
			rarest[1] = i
		}
		rarest[1]--
		depth[rarest[1]]--
	}
	for i, c := range count {
		total += int(c) * int(depth[i])
	}
	return total
}

// tally sets the histogram of the weights but for the weight of the last symbol, which is not stored. Depths fall with
// the number of the leaf, and of its equals the last symbol is the first leaf.
func (h *huffSizer) tally(leaves, last, deepest int) {
	clear(h.hist[:])
	h.hist[0] = uint32(last + 1 - leaves)
	for i := 0; i < leaves; {
		from, d := i, h.depth[i]
		for i < leaves && h.depth[i] == d {
			i++
		}
		h.hist[(deepest+1-int(d))&15] += uint32(i - from)
	}
	i := 0
	for h.nodes[i] != h.count[last] {
		i++
	}
	h.hist[(deepest+1-int(h.depth[i]))&15]--
}

// weigh sets the weights.
func (h *huffSizer) weigh(n, most, last, deepest int) {
	clear(h.weight[:last+1])
	for i, l := range h.sorted(n, most) {
		h.weight[l.symbol()] = uint8(deepest) + 1 - h.depth[i]
	}
}

// fseSizer tells what package fse makes of weights by its length alone. The zero value is ready.
type fseSizer struct {
	symbols [64]uint8  // of the states
	next    [64]uint16 // state after a symbol's k-th state, for each symbol in turn
	norm    [16]int    // how many states a symbol has, -1 for one state at the end
	code    [16]struct{ bits, find int32 }
}

// fseUnknown is the length of what fse normalizes in its second way.
const fseUnknown = -1

// size returns the length of what fse.Compress makes of n weights, given their histogram, if it is below limit. If it is
// not, or fse refuses, it returns 0. It asks for the weights only where the histogram does not decide.
func (f *fseSizer) size(n int, hist []uint32, limit int, weights func() []uint8) int {
	for len(hist) > 0 && hist[len(hist)-1] == 0 {
		hist = hist[:len(hist)-1]
	}
	most := uint32(0)
	for _, c := range hist {
		most = max(most, c)
	}
	if n <= 2 || most == 1 || int(most) == n {
		return 0
	}
	log := 6
	if n > 4 {
		log = min(log, bits.Len(uint(n-1))-3)
	}
	log = max(5, log, min(bits.Len(uint(n-1)), bits.Len(uint(len(hist)-1))+1))
	if !f.normalize(hist, n, log) {
		return fseUnknown
	}
	head := (f.head(log) + 7) / 8
	if head+f.least(hist, log)/8+1 >= limit {
		return 0
	}
	f.build(len(hist), log)
	size := head + (f.run(weights())+2*log)/8 + 1
	if size >= min(n, limit) {
		return 0
	}
	return size
}

// normalize shares 2^log states among the weights, or reports false if that takes the second of fse's ways.
func (f *fseSizer) normalize(hist []uint32, n, log int) bool {
	limits := [...]uint64{0, 473195, 504333, 520860, 550000, 700000, 750000, 830000} // of fse, where to round up
	scale := 62 - log
	step, unit := uint64(1<<62)/uint64(n), uint64(1)<<(scale-20)
	rest, largest := 1<<log, 0
	for w, c := range hist {
		switch share := uint64(c) * step; {
		case c == 0:
			f.norm[w] = 0
		case int(c) <= n>>log:
			f.norm[w] = -1
			rest--
		default:
			states := share >> scale
			if states < 8 && share-states<<scale > unit*limits[states] {
				states++
			}
			f.norm[w] = int(states)
			if f.norm[w] > f.norm[largest] {
				largest = w
			}
			rest -= f.norm[w]
		}
	}
	if -rest >= f.norm[largest]>>1 {
		return false
	}
	f.norm[largest] += rest
	return true
}

// head returns the bits in which norm is stored.
func (f *fseSizer) head(log int) int {
	total, width := 4, log+1
	rest, threshold := 1<<log+1, 1<<log
	zero := false
	for w := 0; rest > 1; w++ {
		if zero {
			run := w
			for f.norm[w] == 0 {
				w++
			}
			total += (w-run)/3*2 + 2
		}
		states := f.norm[w]
		most := 2*threshold - 1 - rest
		rest -= max(states, -states)
		if states++; states >= threshold {
			states += most
		}
		if total += width; states < most {
			total--
		}
		zero = states == 1
		for rest < threshold {
			width--
			threshold >>= 1
		}
	}
	return total
}

// least returns a lower bound of the bits that the weights take, and the two states at the end.
func (f *fseSizer) least(hist []uint32, log int) (total int) {
	for w, c := range hist {
		width := log
		if n := f.norm[w]; n > 1 {
			width -= bits.Len(uint(n - 1))
		}
		total += width * int(c)
	}
	return total
}

// build makes the tables of the states.
func (f *fseSizer) build(weights, log int) {
	size := 1 << log
	high := size - 1
	var start [17]int
	for w, n := range f.norm[:weights] {
		if n == -1 {
			f.symbols[high&63] = uint8(w)
			high--
		}
		start[w+1] = start[w] + max(n, -n)
	}
	at, step := 0, size>>1+size>>3+3
	for w, n := range f.norm[:weights] {
		for range n {
			f.symbols[at&63] = uint8(w)
			for at = (at + step) & (size - 1); at > high; {
				at = (at + step) & (size - 1)
			}
		}
		first := int32(start[w])
		switch f.code[w].find = first - int32(n); {
		case n == 0:
		case n == 1 || n == -1:
			f.code[w].bits, f.code[w].find = int32(log<<16-size), first-1
		default:
			most := log + 1 - bits.Len(uint(n-1))
			f.code[w].bits = int32(most<<16 - n<<most)
		}
	}
	for i, w := range f.symbols[:size] {
		f.next[start[w&15]&63] = uint16(size + i)
		start[w&15]++
	}
}

// run returns the bits that the weights take in two interleaved states.
func (f *fseSizer) run(weights []uint8) (total int) {
	begin := func(w uint8) int32 {
		c := f.code[w&15]
		n := (c.bits + 1<<15) >> 16
		return int32(f.next[((n<<16-c.bits)>>n+c.find)&63])
	}
	n := len(weights)
	a, b := begin(weights[n-1]), begin(weights[n-2])
	for i := n - 3; i >= 0; i-- {
		c := f.code[weights[i]&15]
		n := (a + c.bits) >> 16
		total += int(n)
		a, b = b, int32(f.next[(a>>(n&15)+c.find)&63])
	}
	return total
}
