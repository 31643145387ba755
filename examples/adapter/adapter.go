package adapter

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"path/filepath"
	"sync"

	"github.com/spade-dfl/spade-edge/sdk/regular"
	"github.com/spade-dfl/spade-edge/zoest/rng"
	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// chunk is the number of parameters processed at a time. It is a multiple of 64, the number of signs in a word, and
// small enough for a processor's L1 cache.
const chunk = 4096

// Adapter computes the parameters x of a model from the trained numbers c. Its methods are safe for concurrent use;
// expansions run one at a time.
type Adapter struct {
	spec  Spec
	base  []float32 // x0; nil for zeros
	basis []float32
	signs []uint64 // LoRA: Rank rows for each matrix

	mu   sync.Mutex // guards tile
	tile []float32  // Random: c repeated
}

// Open returns the Adapter of a spec whose files are in the folder dir. It reads the files into memory, and returns an
// error if a file has the wrong length or hash.
func Open(spec Spec, dir string) (*Adapter, error) {
	if err := spec.Validate(); err != nil {
		return nil, err
	}
	base, err := spec.Base.read("base", dir, int64(spec.Of))
	if err != nil {
		return nil, err
	}
	basis, err := spec.Basis.read("basis", dir, int64(spec.Of)*int64(spec.Dim))
	if err != nil {
		return nil, err
	}
	return New(spec, base, basis)
}

// read returns the numbers in file f, which must contain exactly count numbers, or nil if f is nil. Errors identify the
// file by the text in field.
func (f *File) read(field, dir string, count int64) ([]float32, error) {
	if f == nil {
		return nil, nil
	}
	if count > Most {
		return nil, fmt.Errorf("adapter: %s has %d numbers, want at most %d", field, count, Most)
	}
	data, err := regular.Read(filepath.Join(dir, filepath.FromSlash(f.File)), 4*count)
	if err != nil {
		return nil, fmt.Errorf("adapter: %s: %w", field, err)
	}
	if int64(len(data)) != 4*count {
		return nil, fmt.Errorf("adapter: %s: %s has %d bytes, want %d (four for each number)", field, f.File, len(data), 4*count)
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != f.SHA256 {
		return nil, fmt.Errorf("adapter: %s.sha256 is %s, but the SHA-256 of %s is %x", field, f.SHA256, f.File, sum)
	}
	x := make([]float32, count)
	_, err = binary.Decode(data, binary.LittleEndian, x)
	return x, err
}

// New returns an Adapter whose numbers are in memory. base is x0, or nil for zeros. For the form Basis, basis holds the
// d columns of A, each of length D, one after the other; for other forms it is nil. New keeps both slices, which the
// caller must not change, and does not check their hashes.
func New(spec Spec, base, basis []float32) (*Adapter, error) {
	if err := spec.Validate(); err != nil {
		return nil, err
	}
	if base != nil && len(base) != spec.Of {
		return nil, fmt.Errorf("adapter: base has %d numbers, want %d", len(base), spec.Of)
	}
	if spec.Form == Basis && int64(len(basis)) != int64(spec.Dim)*int64(spec.Of) {
		return nil, fmt.Errorf("adapter: basis has %d numbers, want %d rows of %d numbers", len(basis), spec.Dim, spec.Of)
	}
	for k, x := range [][]float32{base, basis} {
		for i, v := range x {
			if math.Float32bits(v)&0x7f800000 == 0x7f800000 {
				name := []string{"base", "basis"}[k]
				return nil, fmt.Errorf("adapter: %s[%d] is %v, want a finite number", name, i, v)
			}
		}
	}
	a := &Adapter{spec: spec, base: base, basis: basis}
	switch spec.Form {
	case Random:
		a.tile = make([]float32, spec.Dim+min(chunk, spec.Of))
	case LoRA:
		for i, m := range spec.Matrices {
			for k := range spec.Rank {
				row := make([]uint64, vec.SignWords(m.Columns))
				stream := rng.New(spec.Seed, rng.Address{Purpose: rng.Adapter, Step: uint32(k), Component: uint32(i)})
				stream.Fill(row)
				a.signs = append(a.signs, row...)
			}
		}
	}
	return a, nil
}

// Spec returns the spec, which must not be changed.
func (a *Adapter) Spec() *Spec { return &a.spec }

// Expand sets x, of length D, to x0 + A c, for c of length d. It panics if a length is wrong. The order of operations
// is fixed, so x has the same bits on every processor.
func (a *Adapter) Expand(x, c []float32) {
	if len(x) != a.spec.Of || len(c) != a.spec.Dim {
		panic(fmt.Sprintf("adapter: Expand of %d numbers from %d, want %d from %d", len(x), len(c), a.spec.Of, a.spec.Dim))
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	from := a.base
	if a.spec.Form != Random || from == nil {
		clear(x[copy(x, a.base):])
		from = x
	}
	switch a.spec.Form {
	case Random:
		a.addRandom(x, from, c)
	case Coords:
		for _, r := range a.spec.Ranges {
			n := r[1] + 1 - r[0]
			vec.Axpy(x[r[0]:r[1]+1], 1, c[:n])
			c = c[n:]
		}
	case LoRA:
		signs := a.signs
		for _, m := range a.spec.Matrices {
			words := vec.SignWords(m.Columns)
			for i := range m.Rows {
				row := x[m.Offset+i*m.Columns:][:m.Columns]
				for k := range a.spec.Rank {
					vec.SignAxpy(row, c[k], signs[k*words:][:words])
				}
				c = c[a.spec.Rank:]
			}
			signs = signs[a.spec.Rank*words:]
		}
	case Basis:
		for at := 0; at < len(x); at += chunk {
			part := x[at:min(at+chunk, len(x))]
			for k, v := range c {
				vec.Axpy(part, v, a.basis[k*len(x)+at:][:len(part)])
			}
		}
	}
}

// addRandom sets x[i] to from[i] + s[i]*c[i mod d].
func (a *Adapter) addRandom(x, from, c []float32) {
	for n := copy(a.tile, c); n < len(a.tile); {
		n += copy(a.tile[n:], a.tile[:n])
	}
	var room [chunk / 64]uint64
	stream := rng.New(a.spec.Seed, rng.Address{Purpose: rng.Adapter})
	at := 0 // index in c
	for i := 0; i < len(x); i += chunk {
		n := min(chunk, len(x)-i)
		signs := room[:vec.SignWords(n)]
		stream.Fill(signs)
		vec.SignAdd(x[i:i+n], from[i:i+n], a.tile[at:at+n], signs)
		at = (at + n) % len(c)
	}
}
