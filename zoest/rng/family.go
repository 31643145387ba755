package rng

// Family is the streams of one purpose and client under a seed. It keeps the key that they have in common, which [New]
// derives again for every stream. It is a small value without references.
type Family struct{ key [2]uint32 }

// NewFamily returns the streams at the addresses of a purpose and a client.
func NewFamily(seed uint64, p Purpose, client uint32) Family {
	// One block under the seed's own key turns (purpose, client) into the key of a family of streams; the other
	// coordinates and the block number are that family's counter.
	k0, k1, _, _ := philox(uint32(p), client, 0x53504144, 0, uint32(seed), uint32(seed>>32))
	return Family{[2]uint32{k0, k1}}
}

// At returns the stream at the rest of an address.
func (f Family) At(round, step, component uint32) Stream {
	return Stream{key: f.key, ctr: [4]uint32{0, component, step, round}}
}

// Fill cuts dst into a row for each component and fills it with the first words, as Uint64 gives them, of the
// component's stream. Every row has len(dst)/len(components) words, which must be a whole number and even.
func (f Family) Fill(dst []uint64, round, step uint32, components []int) {
	if len(dst) == 2*len(components) {
		rows(dst, components, 0, step, round, f.key[0], f.key[1])
		return
	}
	for i, c := range components {
		n := len(dst) / (len(components) - i)
		run(dst[:n], 0, uint32(c), step, round, f.key[0], f.key[1])
		dst = dst[n:]
	}
}
