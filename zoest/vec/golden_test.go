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

// TestExpLogGoldenHash checks that the results are the same on every processor; the accuracy tests show that they are
// correct. A missing rounding in a polynomial changes only some results, so it compares a hash of many. The arguments of
// Exp are multiples of 2^-40 in [-512, 512), and those of Log are positive numbers with arbitrary bits. (The vector
// kernels need no hash, because their tests compare bits.)
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
