package zoest

import (
	"math/bits"

	"github.com/spade-dfl/spade-edge/zoest/rng"
	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// walsh generates the Walsh directions of a stage. Let n be the smallest power of two that is at least d. A direction
// is the sign vector of the stage multiplied by a row of the Hadamard matrix of order n, truncated to d columns. The
// matrix is Sylvester's: the sign of element j in row r is the parity of r&j. A number below 2n identifies a row and
// its sign, which is the highest bit.
//
// The sign vector of the stage is uniform, so each direction is uniform too. The order of the rows is a keyed
// permutation of the numbers and determines only which rows a stage omits.
type walsh struct {
	family rng.Family
	bits   int       // width of a number: 2n is 1<<bits
	common []uint64  // the stage's signs
	keys   [6]uint32 // keys of the permutation
	rows   []uint32  // room for the numbers of the directions to draw
}

func newWalsh(cfg Config, most int) *walsh {
	return &walsh{
		rows:   make([]uint32, most),
		family: rng.NewFamily(cfg.Seed, rng.Walsh, cfg.Client),
		bits:   bits.Len(uint(cfg.Dim-1)) + 1,
		common: make([]uint64, vec.SignWords(cfg.Dim)),
	}
}

// begin draws the values that all directions of a stage share.
func (w *walsh) begin(at stage) {
	s := w.family.At(at.round, at.number(), 0)
	s.Fill(w.common)
	s = w.family.At(at.round, at.number(), 1)
	for i := range w.keys {
		w.keys[i] = s.Uint32()
	}
}

func (w *walsh) draw(a *answers, first int, components []int) {
	rows := w.rows[:len(components)]
	w.number(rows, first, 0)
	w.expand(a, rows, w.bits)
}

// expand sets the first directions of a to those with the given numbers, of the given width in bits.
func (w *walsh) expand(a *answers, numbers []uint32, width int) {
	for i, number := range numbers {
		hadamard(a.dirs[i], w.common, number, width)
	}
}

// number stores the row numbers of the stage's directions i, i+1 and so on, for the given turn; without records, turn
// is always 0. A Feistel network on the two halves of the bits of i permutes the numbers below 2n, with a different
// permutation for every 2n directions. As turn increases, each direction passes through all 2n numbers in its own
// order.
func (w *walsh) number(numbers []uint32, i, turn int) {
	half := w.bits / 2 & 31
	first, second := uint32(1)<<half-1, uint32(1)<<((w.bits-half)&31)-1
	k, past := &w.keys, turn>>(w.bits&31)
	for j := range numbers {
		at := uint32(i+j) ^ uint32(turn)
		other := uint32((i+j)>>(w.bits&31)+past) * 0xc2b2ae35
		low, high := at&first, at>>half&second
		high ^= scramble(low^k[0]+other) & second
		low ^= scramble(high^k[1]+other) & first
		high ^= scramble(low^k[2]+other) & second
		low ^= scramble(high^k[3]+other) & first
		high ^= scramble(low^k[4]+other) & second
		low ^= scramble(high^k[5]+other) & first
		numbers[j] = high<<half | low
	}
}

// recordWalsh generates the Walsh directions of records. The order of the rows belongs to the whole round, in which each
// record has its own: for each record, every row occurs once before any row repeats. The sign of each direction is drawn
// independently.
type recordWalsh struct {
	walsh
	flips []uint64 // the sign of each record's direction in this stage
	step  int
}

func newRecordWalsh(cfg Config, most int) *recordWalsh {
	w := &recordWalsh{walsh: *newWalsh(cfg, most), flips: make([]uint64, (vec.SignWords(cfg.Samples)+1)&^1)}
	w.bits-- // the signs come from flips
	return w
}

func (w *recordWalsh) begin(at stage) {
	if at.filling {
		w.walsh.begin(at)
		return
	}
	w.step = int(at.step)
	s := w.family.At(at.round, at.step, 2)
	s.Fill(w.flips)
}

func (w *recordWalsh) draw(a *answers, first int, components []int) {
	w.numbers(w.rows[:len(components)], first)
	w.expand(a, w.rows[:len(components)], w.bits+1)
}

// numbers stores the signed row numbers of the directions of record h and the following records.
func (w *recordWalsh) numbers(numbers []uint32, h int) {
	w.number(numbers, h, w.step)
	for i := range numbers {
		at := h + i
		numbers[i] |= uint32(w.flips[at/64]>>(at%64)&1) << (w.bits & 31)
	}
}

// scramble returns a 24-bit hash of x.
func scramble(x uint32) uint32 {
	x *= 0x9e3779b1
	return (x ^ x>>15) * 0x85ebca6b >> 8
}

// sylvester is Sylvester's Hadamard matrix of order 64.
var sylvester = func() (rows [64]uint64) {
	periods := [...]uint64{0xaaaaaaaaaaaaaaaa, 0xcccccccccccccccc, 0xf0f0f0f0f0f0f0f0, 0xff00ff00ff00ff00,
		0xffff0000ffff0000, 0xffffffff00000000} // rows 1, 2, 4 to 32
	for i, period := range periods {
		for r := range rows[:1<<i] {
			rows[1<<i+r] = rows[r] ^ period
		}
	}
	return rows
}()

// hadamard sets dst to signs multiplied by a signed row of the Hadamard matrix. row contains the number of the row and,
// in the highest of its width bits, the sign.
func hadamard(dst, signs []uint64, row uint32, width int) {
	sign := row >> ((width - 1) & 31)
	row ^= sign << ((width - 1) & 31)
	first := sylvester[row%64] ^ -uint64(sign)
	row /= 64
	for i, s := range signs[:len(dst)] {
		dst[i] = s ^ first ^ -uint64(bits.OnesCount32(row&uint32(i))&1)
	}
}
