package sim

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"math"
	"sync"
)

// Transcript sorts the releases of a network by round and client and hashes them with SHA-256: round and client as
// 64-bit integers, then the model as float32, all little-endian. It is safe for concurrent use.
type Transcript struct {
	clients  int
	complete func(round int, models [][]float32)

	mu   sync.Mutex // guards the fields below
	over int
	open []round // rounds after over
	hash hash.Hash
	buf  []byte
}

// round holds the known releases of an incomplete round.
type round struct {
	count  int
	models [][]float32
}

// NewTranscript returns an empty transcript. The function complete, if not nil, is called with every complete round, in
// order. It may keep the models, but must not call methods of the transcript.
func NewTranscript(clients int, complete func(round int, models [][]float32)) *Transcript {
	return &Transcript{clients: clients, complete: complete, hash: sha256.New()}
}

// Add adds the release of a client in the round with the given number, from 1, and takes ownership of x. It ignores a
// second release of the same client and round.
func (t *Transcript) Add(number, client int, x []float32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if number <= t.over {
		return
	}
	for len(t.open) < number-t.over {
		t.open = append(t.open, round{models: make([][]float32, t.clients)})
	}
	r := &t.open[number-t.over-1]
	if r.models[client] != nil {
		return
	}
	r.models[client] = x
	r.count++
	for len(t.open) > 0 && t.open[0].count == t.clients {
		models := t.open[0].models
		t.open = t.open[1:]
		t.over++
		t.write(models)
		if t.complete != nil {
			t.complete(t.over, models)
		}
	}
}

// write adds the models of round t.over, which is complete, to the hash.
func (t *Transcript) write(models [][]float32) {
	t.buf = t.buf[:0]
	for i, x := range models {
		t.buf = binary.LittleEndian.AppendUint64(t.buf, uint64(t.over))
		t.buf = binary.LittleEndian.AppendUint64(t.buf, uint64(i))
		for _, x := range x {
			t.buf = binary.LittleEndian.AppendUint32(t.buf, math.Float32bits(x))
		}
	}
	t.hash.Write(t.buf)
}

// Sum returns the hash, in hex, of all complete rounds.
func (t *Transcript) Sum() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return hex.EncodeToString(t.hash.Sum(nil))
}
