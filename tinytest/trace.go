package tinytest

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/spade-dfl/spade-edge/sdk/admm"
)

// traceHeader names the columns of a trace, in the order in which a round computes them.
const traceHeader = "round client z baselines model mean"

// Trace takes a simulation that has not begun through all its rounds, and returns what it computed as text: a line for each
// release, in order of round, then client, with a hash of 32 bits each of the client's edge variables z, of its estimator's
// baselines, of the released model, and of the mean of its releases ("-" for what the run does not have); and at the end the
// transcript.
func Trace(ctx context.Context, s *Sim) (string, error) {
	if s.tick > 0 {
		return "", fmt.Errorf("tinytest: a trace of a simulation that has begun, %d ticks ago", s.tick)
	}
	s.tracing = true
	err := s.Run(ctx, nil)
	return fmt.Sprintf("%s\n%stranscript %s\n", traceHeader, s.rounds.lines, s.Transcript()), err
}

// appendNote appends a client's part of a line: what it holds with the release it has just made.
func appendNote(dst []byte, s admm.State) []byte {
	h := sha256.New()
	var buf []byte
	floats := func(x []float32) {
		buf = binary.LittleEndian.AppendUint32(buf[:0], uint32(len(x)))
		for _, v := range x {
			buf = binary.LittleEndian.AppendUint32(buf, math.Float32bits(v))
		}
		h.Write(buf)
	}
	steps := func(x []int32) {
		buf = buf[:0]
		for _, v := range x {
			buf = binary.LittleEndian.AppendUint32(buf, uint32(v))
		}
		h.Write(buf)
	}
	end := func(there bool) {
		dst = append(dst, ' ')
		if there {
			dst = hex.AppendEncode(dst, h.Sum(nil)[:4])
		} else {
			dst = append(dst, '-')
		}
		h.Reset()
	}
	for _, e := range s.Edges {
		floats(e.Z)
		floats(e.PeerZ)
		steps(e.Base)
	}
	end(len(s.Edges) > 0)
	floats(s.Last)
	end(s.Last != nil)
	floats(s.X)
	steps(s.Grid)
	end(true)
	floats(s.Mean)
	end(s.Mean != nil)
	return dst
}

// appendLine appends a line of a trace.
func appendLine(dst []byte, round, client int, note string) []byte {
	return fmt.Appendf(dst, "%d %d%s\n", round, client, note)
}

// CompareTraces returns nil if two texts of [Trace] are the same. Otherwise it names the first round and client that differ,
// and the first variable of theirs: later differences follow from it.
func CompareTraces(got, want string) error {
	if got == want {
		return nil
	}
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	columns := strings.Fields(traceHeader)
	for i := range max(len(g), len(w)) {
		if i >= len(g) || i >= len(w) {
			return fmt.Errorf("tinytest: the traces have %d and %d lines, and agree as far as both go", len(g), len(w))
		}
		if g[i] == w[i] {
			continue
		}
		a, b := strings.Fields(g[i]), strings.Fields(w[i])
		if len(a) != len(columns) || len(b) != len(columns) || a[0] != b[0] || a[1] != b[1] {
			return fmt.Errorf("tinytest: line %d of the trace is %q, want %q", i+1, g[i], w[i])
		}
		for c := range columns {
			if a[c] != b[c] {
				return fmt.Errorf("tinytest: round %s, client %s: %s has hash %s, want %s: the first difference", a[0], a[1], columns[c], a[c], b[c])
			}
		}
	}
	return errors.New("tinytest: the traces differ in white space")
}
