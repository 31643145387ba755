package rng

// The Go code for Philox4x32-10 is the definition. The assembly must generate the same words.

// These are the constants of Philox4x32-10: two multipliers and the Weyl sequence of the key schedule.
const (
	philoxM0 = 0xD2511F53
	philoxM1 = 0xCD9E8D57
	philoxW0 = 0x9E3779B9
	philoxW1 = 0xBB67AE85
)

// philox returns the Philox4x32-10 block for the counter c and the key k.
func philox(c0, c1, c2, c3, k0, k1 uint32) (w0, w1, w2, w3 uint32) {
	for range 10 {
		p, q := uint64(philoxM0)*uint64(c0), uint64(philoxM1)*uint64(c2)
		c0, c1, c2, c3 = uint32(q>>32)^c1^k0, uint32(q), uint32(p>>32)^c3^k1, uint32(p)
		k0 += philoxW0
		k1 += philoxW1
	}
	return c0, c1, c2, c3
}

// philox2 returns the blocks for two counters, whose first words are a0 and b0 and whose other words are the same.
// Interleaving the two computations hides the latency of the multiplications.
func philox2(a0, b0, c1, c2, c3, k0, k1 uint32) (w0, w1, w2, w3, v0, v1, v2, v3 uint32) {
	a1, a2, a3, b1, b2, b3 := c1, c2, c3, c1, c2, c3
	for range 10 {
		pa, qa := uint64(philoxM0)*uint64(a0), uint64(philoxM1)*uint64(a2)
		pb, qb := uint64(philoxM0)*uint64(b0), uint64(philoxM1)*uint64(b2)
		a0, a1, a2, a3 = uint32(qa>>32)^a1^k0, uint32(qa), uint32(pa>>32)^a3^k1, uint32(pa)
		b0, b1, b2, b3 = uint32(qb>>32)^b1^k0, uint32(qb), uint32(pb>>32)^b3^k1, uint32(pb)
		k0 += philoxW0
		k1 += philoxW1
	}
	return a0, a1, a2, a3, b0, b1, b2, b3
}

func pair(lo, hi uint32) uint64 { return uint64(lo) | uint64(hi)<<32 }

// runGo fills dst with the blocks of successive counters: (c0, c1, c2, c3), (c0+1, c1, c2, c3) and so on. Each block
// takes two words of dst; len(dst) must be even.
func runGo(dst []uint64, c0, c1, c2, c3, k0, k1 uint32) {
	for ; len(dst) >= 4; dst = dst[4:] {
		w0, w1, w2, w3, v0, v1, v2, v3 := philox2(c0, c0+1, c1, c2, c3, k0, k1)
		dst[0], dst[1], dst[2], dst[3] = pair(w0, w1), pair(w2, w3), pair(v0, v1), pair(v2, v3)
		c0 += 2
	}
	if len(dst) > 0 {
		w0, w1, w2, w3 := philox(c0, c1, c2, c3, k0, k1)
		dst[0], dst[1] = pair(w0, w1), pair(w2, w3)
	}
}

// rowsGo stores one block for each component: the block of the counter (c0, component, c2, c3). Each block takes two
// words of dst.
func rowsGo(dst []uint64, components []int, c0, c2, c3, k0, k1 uint32) {
	for i, c := range components {
		runGo(dst[2*i:2*i+2], c0, uint32(c), c2, c3, k0, k1)
	}
}
