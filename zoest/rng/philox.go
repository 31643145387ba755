package rng

import "math/bits"

// Philox4x32-10 constants: two multipliers and the Weyl sequence of the key schedule.
const (
	philoxM0 = 0xD2511F53
	philoxM1 = 0xCD9E8D57
	philoxW0 = 0x9E3779B9
	philoxW1 = 0xBB67AE85
)

// philox returns the block that Philox4x32-10 assigns to a counter under a key.
func philox(ctr [4]uint32, key [2]uint32) [4]uint32 {
	for range 10 {
		hi0, lo0 := bits.Mul32(philoxM0, ctr[0])
		hi1, lo1 := bits.Mul32(philoxM1, ctr[2])
		ctr = [4]uint32{hi1 ^ ctr[1] ^ key[0], lo1, hi0 ^ ctr[3] ^ key[1], lo0}
		key[0] += philoxW0
		key[1] += philoxW1
	}
	return ctr
}

// philox2 is philox on two counters at once: the processor works on one while the other waits for its products.
func philox2(a, b [4]uint32, key [2]uint32) ([4]uint32, [4]uint32) {
	a0, a1, a2, a3 := a[0], a[1], a[2], a[3]
	b0, b1, b2, b3 := b[0], b[1], b[2], b[3]
	k0, k1 := key[0], key[1]
	for range 10 {
		pa, qa := uint64(philoxM0)*uint64(a0), uint64(philoxM1)*uint64(a2)
		pb, qb := uint64(philoxM0)*uint64(b0), uint64(philoxM1)*uint64(b2)
		a0, a1, a2, a3 = uint32(qa>>32)^a1^k0, uint32(qa), uint32(pa>>32)^a3^k1, uint32(pa)
		b0, b1, b2, b3 = uint32(qb>>32)^b1^k0, uint32(qb), uint32(pb>>32)^b3^k1, uint32(pb)
		k0 += philoxW0
		k1 += philoxW1
	}
	return [4]uint32{a0, a1, a2, a3}, [4]uint32{b0, b1, b2, b3}
}
