package vec_test

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// golden contains an argument of a function and the bits of the result. The accuracy tests show that the results are
// correct; this table shows that they are the same on every processor. (The vector kernels need no table, because their
// tests compare bits.)
type golden struct {
	x    float64
	bits uint64
}

var goldenExp = []golden{
	{-708.39, 0x00101a5ff6ed496b}, {-700.25, 0x00caf5fe9a485c8e}, {-512.5, 0x11b891c51de88206},
	{-256.125, 0x28d6778a503dc76b}, {-100, 0x36ea8c1f14e2af5c}, {-87.3, 0x38109874c0b9cacb},
	{-37.5, 0x3c8dd5c566301ec8}, {-20, 0x3e21b48655f37267}, {-10.1, 0x3f05899ac5129ae3},
	{-5, 0x3f7b993fe00d5376}, {-2.5, 0x3fb50385c094f425}, {-1, 0x3fd78b56362cef38},
	{-0.75, 0x3fde3b40ebefcd7e}, {-0.35, 0x3fe68cce09671f71}, {-0.34, 0x3fe6c6d28e50ebb6},
	{-0.1, 0x3fecf46d99d52b3a}, {-0.001, 0x3feff7cfe56f1a9e}, {-1e-09, 0x3fefffffff768fa1},
	{1e-12, 0x3ff0000000001198}, {1e-05, 0x3ff0000a7c5e340e}, {0.01, 0x3ff0292a5d2f2226},
	{0.2, 0x3ff38add9e58ac8d}, {0.34, 0x3ff67aaa532108be}, {0.35, 0x3ff6b4802c805dec},
	{0.5, 0x3ffa61298e1e069c}, {math.Ln2, 0x4000000000000000}, {1, 0x4005bf0a8b14576a},
	{1.5, 0x4011ed3fe64fc541}, {2, 0x401d8e64b8d4ddae}, {math.Pi, 0x403724046eb09339},
	{7.77, 0x40a280f14cb5126e}, {10, 0x40d5829dcf950560}, {22.2, 0x41f04fc79e607692},
	{50, 0x44719103e4080b45}, {88.7, 0x47ef4705bbffae5c}, {128.0625, 0x4b7b012df4d94a72},
	{300.3, 0x5b02e9c6cabf8f3f}, {444.4, 0x68018da9b092518c}, {600.6, 0x76165b56ffa5f189},
	{709.78, 0x7fefe9ce5c4c52b4},
}

var goldenLog = []golden{
	{math.SmallestNonzeroFloat64, 0xc0874385446d71c3}, {3e-320, 0xc086fdd43b3b8eab}, {2.5e-310, 0xc0864714a9115cd0},
	{0x1p-1022, 0xc086232bdd7abcd2}, {1e-300, 0xc085963447f87fb5}, {1e-200, 0xc07cc845b54b54f2},
	{1e-100, 0xc06cc845b54b54f2}, {1e-37, 0xc0554c858109aa61}, {1e-16, 0xc0426bb1bbb55516},
	{1e-09, 0xc034b927f32bffb8}, {0.001, 0xc01ba18a998fffa0}, {0.01, 0xc0126bb1bbb55516},
	{0.1, 0xc0026bb1bbb55515}, {0.25, 0xbff62e42fefa39ef}, {0.3, 0xbff34378fcbda721},
	{0.5, 0xbfe62e42fefa39ef}, {0.7, 0xbfd6d3c324e13f50}, {0.70710678, 0xbfd62e4300c77ae9},
	{0.7071067812, 0xbfd62e42fef4ff31}, {0.75, 0xbfd269621134db92}, {0.9, 0xbfbaf8e8210a415c},
	{0.99, 0xbf8495453e6fd4bc}, {0.999999, 0xbeb0c6f82d74d230}, {1 - 0x1p-53, 0xbca0000000000000},
	{1 + 0x1p-52, 0x3cb0000000000000}, {1.000001, 0x3eb0c6f713f33a1d}, {1.01, 0x3f8460d6ccca367d},
	{1.1, 0x3fb8663f793c46cc}, {1.25, 0x3fcc8ff7c79a9a21}, {1.4142135, 0x3fd62e42cf9ee3ec},
	{1.4142136, 0x3fd62e431b8bb195}, {1.5, 0x3fd9f323ecbf984c}, {2, 0x3fe62e42fefa39ef},
	{math.E, 0x3ff0000000000000}, {3, 0x3ff193ea7aad030b}, {math.Pi, 0x3ff250d048e7a1bd},
	{5, 0x3ff9c041f7ed8d33}, {7, 0x3fff2272ae325a57}, {10, 0x40026bb1bbb55516},
	{100, 0x40126bb1bbb55516}, {12345.678, 0x4022d79559791e31}, {1e+09, 0x4034b927f32bffb8},
	{1e+16, 0x40426bb1bbb55516}, {1e+50, 0x405cc845b54b54f2}, {1e+150, 0x4075963447f87fb5},
	{1e+300, 0x4085963447f87fb5}, {math.MaxFloat64, 0x40862e42fefa39ef},
}

func TestExpLogGolden(t *testing.T) {
	for _, c := range []struct {
		name  string
		f     func(float64) float64
		table []golden
	}{{"Exp", vec.Exp, goldenExp}, {"Log", vec.Log, goldenLog}} {
		for _, g := range c.table {
			if got := math.Float64bits(c.f(g.x)); got != g.bits {
				t.Errorf("%s(%v) has the bits %016x, want %016x", c.name, g.x, got, g.bits)
			}
		}
	}
}

// TestExpLogGoldenHash compares a hash of the results for many more arguments than the golden table has. The table
// shows for which arguments a processor differs, but the hash is more likely to detect a difference: a missing rounding
// in a polynomial changes some results. The arguments of Exp are multiples of 2^-40 in [-512, 512), and those of Log
// are positive numbers with arbitrary bits.
func TestExpLogGoldenHash(t *testing.T) {
	for _, c := range []struct {
		name string
		f    func(r *rand.Rand) float64
		want string
	}{
		{"Exp", func(r *rand.Rand) float64 { return vec.Exp(float64(int64(r.Uint64())>>14) * 0x1p-40) },
			"6b87792ec5062e7af53633ea50475f13c9ee1c5da674012ecab0572114aa4071"},
		{"Log", func(r *rand.Rand) float64 { return vec.Log(math.Float64frombits(r.Uint64N(0x7ff0 << 48))) },
			"1c543942e44f52d58d45120316d64a880938791aa9fa4612666f7194fb813402"},
		{"Log near 1", func(r *rand.Rand) float64 { return vec.Log(0.5 + float64(r.Uint64()>>11)*0x1p-53) },
			"930d4823e7fb91085a8e1e838e6bccaa3082ee963328579874ddaa1250a505b2"},
	} {
		r := rand.New(rand.NewPCG(14, 15))
		hash := sha256.New()
		for range 20000 {
			hash.Write(binary.LittleEndian.AppendUint64(nil, math.Float64bits(c.f(r))))
		}
		if got := hex.EncodeToString(hash.Sum(nil)); got != c.want {
			t.Errorf("%s: hash %s, want %s", c.name, got, c.want)
		}
	}
}
