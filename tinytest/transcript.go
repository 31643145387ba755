package tinytest

import (
	"encoding/binary"
	"encoding/hex"
	"hash"
	"math"
)

// AppendRelease appends one entry of a transcript: round and client as 64-bit little-endian integers, then the released
// model as float32, little endian.
func AppendRelease(dst []byte, round, client int, x []float32) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, uint64(round))
	dst = binary.LittleEndian.AppendUint64(dst, uint64(client))
	for _, v := range x {
		dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(v))
	}
	return dst
}

// Transcript returns the SHA-256, in hex, of all releases of the rounds that are over: in order of round, then client, in the
// form of [AppendRelease], whatever the order in which they were made.
func (s *Sim) Transcript() string { return hex.EncodeToString(s.rounds.sum()) }

// releases puts the releases of a network into order: those of a round that is not over wait for the rest of it.
type releases struct {
	n     int // clients
	over  int // rounds
	open  []round
	hash  hash.Hash
	lines []byte // of the rounds that are over, if there are notes
}

// round holds what is known of a round that is not over.
type round struct {
	count  int
	models [][]float32
	notes  []string
}

// add takes in a release, and counts the rounds that it ends. One that is known is passed over.
func (r *releases) add(number, client int, x []float32, note []byte) {
	if number <= r.over {
		return
	}
	for len(r.open) < number-r.over {
		r.open = append(r.open, round{models: make([][]float32, r.n), notes: make([]string, r.n)})
	}
	o := &r.open[number-r.over-1]
	if o.models[client] != nil {
		return
	}
	o.count++
	o.models[client], o.notes[client] = x, string(note)
	var buf []byte
	for len(r.open) > 0 && r.open[0].count == r.n {
		r.over++
		for i, x := range r.open[0].models {
			buf = AppendRelease(buf[:0], r.over, i, x)
			r.hash.Write(buf)
			if note := r.open[0].notes[i]; note != "" {
				r.lines = appendLine(r.lines, r.over, i, note)
			}
		}
		r.open[0] = round{}
		r.open = r.open[1:]
	}
}

func (r *releases) sum() []byte { return r.hash.Sum(nil) }
