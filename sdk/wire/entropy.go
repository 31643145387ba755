package wire

import "math/bits"

// leastHuff0 is the shortest length, in bytes, of a block in huff0: its length, a table of two bytes, the lengths of
// three of the four segments, and a byte for each segment.
const leastHuff0 = 2 + 2 + 6 + 4

// one is 1 in the fixed-point numbers of this file. They are integers, so every processor makes the same choice.
const one = 1 << 16

// compressible reports whether huff0 can make a block shorter. A wrong "no" is valid but costs bytes, and a wrong "yes"
// costs time; counts must hold the number of occurrences of each byte in the block, n its length, distinct the number of
// bytes that occur, and last the highest of them.
//
// The segments take at least the block's entropy (Shannon 1948). The table holds the code length of each byte up to the
// highest that occurs. Code lengths grow with the logarithm of the rarity, so the entropy of the counts' own logarithms
// estimates the table's size; three quarters of it are a bound that TestCompressible finds to hold.
func compressible(counts *[256]uint32, n, distinct, last int) bool {
	shorter := func(data, table uint64) bool { // 2+1+6: the two lengths and the first byte of the table
		return 2+1+6+int((data+table/4*3)/(8*one)) < n
	}
	// Both entropies are lowest if one byte has all repetitions. Most short blocks of even bytes need no closer look.
	if !shorter(bitsOf(n)-bitsOf(n-distinct+1), bitsOf(last+1)-bitsOf(distinct)-bitsOf(last+1-distinct)) {
		return false
	}
	var logs [33]uint32 // how many bytes have a count of so many bits
	data, most, once := bitsOf(n), uint32(1), uint32(0)
	for _, c := range counts {
		if c < 2 { // this is most bytes of a short block, and the logarithm of 1 is 0
			once += c
			continue
		}
		logs[bits.Len32(c)]++
		data -= bitsOf(int(c))
		most = max(most, c)
	}
	if int(most) < n>>7 { // huff0 does not try this
		return false
	}
	logs[1], logs[0] = once, uint32(last+1-distinct)
	table := bitsOf(last + 1)
	for _, c := range logs[:bits.Len32(most)+1] {
		table -= bitsOf(int(c))
	}
	return shorter(data, table)
}

// bitsOf returns n*log2(n), or 0 for n = 0.
func bitsOf(n int) uint64 {
	if n < 2 {
		return 0
	}
	return uint64(n) * uint64(log2(uint32(n)))
}

// log2 returns the logarithm of c > 0 to base 2, to within 1 % of a bit.
func log2(c uint32) uint32 {
	whole := uint32(bits.Len32(c) - 1)
	f := c << (31 - whole) << 1 >> 16              // the fraction after the leading bit
	return whole*one + f + f*(one-f)>>16*22500>>16 // log2(1+f) is about f + 0.343*f*(1-f)
}
