package rng

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// Purpose separates draws that are used for different things.
type Purpose uint32

// These are the purposes. Their values affect every transcript: add new purposes only at the end.
const (
	Table     Purpose = iota + 1 // a direction that fills the memory table
	Step                         // a direction of a local step
	Batch                        // the components of a mini-batch
	Noise                        // simulated release noise
	Graph                        // a random graph
	Split                        // training and test data
	Partition                    // assignment of data to clients
	Generate                     // synthetic data
	Spectrum                     // the start vector of an eigenvalue iteration
	Fault                        // simulated faults
	Start                        // the start of a model that must not start at zero
	Walsh                        // the part common to the Walsh directions of a stage: signs and order
	Adapter                      // the signs of a subspace; Component is the number of a matrix, Step that of a factor
)

// Address identifies a stream of draws. Fields that do not apply to the purpose are zero.
type Address struct {
	Purpose                        Purpose
	Client, Round, Step, Component uint32
}

// Stream is the sequence of draws at one address. Copying a Stream also copies its position. A Stream repeats after
// 2^32 blocks of 16 bytes. It is not safe for concurrent use.
type Stream struct {
	key [2]uint32
	ctr [4]uint32
	buf [4]uint32
	n   int // unused words of buf

	spare    float64 // second half of the last pair of normals
	hasSpare bool
}

// New returns the stream at the given address for the given seed.
func New(seed uint64, a Address) Stream {
	return NewFamily(seed, a.Purpose, a.Client).At(a.Round, a.Step, a.Component)
}

// Family is the set of all streams with the same seed, purpose and client. It caches the key that these streams share,
// which [New] derives anew for every stream.
type Family struct{ key [2]uint32 }

// NewFamily returns the family of all streams with the given seed, purpose and client.
func NewFamily(seed uint64, p Purpose, client uint32) Family {
	// One block with the seed as the key maps the purpose and the client to the key of a family. The other fields of an
	// address, and the block number, form the counter under this key.
	k0, k1, _, _ := philox(uint32(p), client, 0x53504144, 0, uint32(seed), uint32(seed>>32))
	return Family{[2]uint32{k0, k1}}
}

// At returns the stream of the family at the given round, step and component.
func (f Family) At(round, step, component uint32) Stream {
	return Stream{key: f.key, ctr: [4]uint32{0, component, step, round}}
}

// Fill divides dst into rows of equal length, one for each component, and fills each row with the first words of the
// component's stream, as Uint64 returns them. The length of a row, len(dst)/len(components), must be an even integer.
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

// Uint32 returns 32 uniform bits.
func (s *Stream) Uint32() uint32 {
	if s.n == 0 {
		s.buf[0], s.buf[1], s.buf[2], s.buf[3] = philox(s.ctr[0], s.ctr[1], s.ctr[2], s.ctr[3], s.key[0], s.key[1])
		s.ctr[0]++
		s.n = len(s.buf)
	}
	w := s.buf[len(s.buf)-s.n]
	s.n--
	return w
}

// Uint64 returns 64 uniform bits. The first 32-bit word drawn is the low half.
func (s *Stream) Uint64() uint64 {
	lo := uint64(s.Uint32())
	return lo | uint64(s.Uint32())<<32
}

// Fill fills dst with the words that successive calls of Uint64 would return.
func (s *Stream) Fill(dst []uint64) {
	if s.n == 0 {
		n := len(dst) &^ 1
		run(dst[:n], s.ctr[0], s.ctr[1], s.ctr[2], s.ctr[3], s.key[0], s.key[1])
		s.ctr[0] += uint32(n / 2)
		dst = dst[n:]
	}
	for i := range dst {
		dst[i] = s.Uint64()
	}
}

// Read fills p with uniform bytes and never fails. The bytes are the words in little-endian order. Read consumes the
// final word completely even if it needs only some of its bytes, so two short reads may return different bytes than one
// long read.
func (s *Stream) Read(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		var w [4]byte
		binary.LittleEndian.PutUint32(w[:], s.Uint32())
		p = p[copy(p, w[:]):]
	}
	return n, nil
}

// IntN returns a uniform integer in [0, n) without bias (Lemire, "Fast random integer generation in an interval",
// 2019). n must be in [1, 2^32).
func (s *Stream) IntN(n int) int {
	for {
		hi, lo := bits.Mul32(s.Uint32(), uint32(n))
		if lo >= uint32(n) || lo >= -uint32(n)%uint32(n) {
			return int(hi)
		}
	}
}

// Float64 returns a uniform number in [0, 1) with 53 random bits.
func (s *Stream) Float64() float64 { return float64(s.Uint64()>>11) * 0x1p-53 }

// Normal returns a draw from the standard normal distribution (Marsaglia's polar method). The result has the same bits
// on every processor. The values have the granularity of float64 arithmetic: they are suitable for directions and data,
// but not for privacy.
func (s *Stream) Normal() float64 {
	if s.hasSpare {
		s.hasSpare = false
		return s.spare
	}
	for {
		x, y := 2*s.Float64()-1, 2*s.Float64()-1
		r := float64(x*x) + float64(y*y)
		if r >= 1 || r == 0 {
			continue
		}
		f := math.Sqrt(-2 * vec.Log(r) / r)
		s.spare, s.hasSpare = y*f, true
		return x * f
	}
}

// Gamma returns a draw from the gamma distribution with the given shape and scale 1 (Marsaglia and Tsang, "A simple
// method for generating gamma variables", 2000). shape must be positive. If shape is very small, the result may
// underflow to zero.
func (s *Stream) Gamma(shape float64) float64 {
	boost := 1.0
	if shape < 1 {
		boost = vec.Exp(vec.Log(1-s.Float64()) / shape)
		shape++
	}
	d := shape - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		x := s.Normal()
		v := 1 + float64(c*x)
		if v <= 0 {
			continue
		}
		v = v * v * v
		u := 1 - s.Float64()
		if vec.Log(u) < float64(0.5*x*x)+float64(d*(1-v+vec.Log(v))) {
			return boost * d * v
		}
	}
}

// Shuffle puts n items in uniformly random order (Fisher-Yates). It calls swap to exchange the items i and j.
func (s *Stream) Shuffle(n int, swap func(i, j int)) {
	for i := n - 1; i > 0; i-- {
		swap(i, s.IntN(i+1))
	}
}
