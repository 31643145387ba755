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
	"github.com/spade-dfl/spade-edge/sdk/sim"
)

// traceHeader names the columns of a trace, in the order in which a round computes them.
const traceHeader = "round client z baselines model mean"

// Trace takes a simulation that has not begun through all its rounds and returns its intermediate values as text: one
// line per release, in order of round, then client, with 32-bit hashes of the client's edge variables z, its
// estimator's baselines, the released model, and the mean of its releases ("-" for what the run does not have). The
// last line has the transcript.
func Trace(ctx context.Context, s *sim.Sim) (string, error) {
	if s.Ticks() > 0 {
		return "", fmt.Errorf("tinytest: trace of a simulation that began %d ticks ago", s.Ticks())
	}
	hashes := make([][]string, len(s.Models())) // by client and round
	s.OnRelease = func(client int, m *admm.Machine) {
		hashes[client] = append(hashes[client], stateHashes(m.State()))
	}
	err := s.Run(ctx, nil)
	var text strings.Builder
	fmt.Fprintln(&text, traceHeader)
	for round := range s.Round() {
		for client, h := range hashes {
			fmt.Fprintf(&text, "%d %d%s\n", round+1, client, h[round])
		}
	}
	fmt.Fprintf(&text, "transcript %s\n", s.Transcript())
	return text.String(), err
}

// stateHashes returns the hashes of a line, each after a space.
func stateHashes(s admm.State) string {
	h := sha256.New()
	var buf, line []byte
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
	end := func(present bool) {
		line = append(line, ' ')
		if present {
			line = hex.AppendEncode(line, h.Sum(nil)[:4])
		} else {
			line = append(line, '-')
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
	return string(line)
}

// CompareTraces returns nil if two texts of [Trace] are equal. Otherwise it names the first round and client that
// differ, and the first variable of theirs: later differences follow from it.
func CompareTraces(got, want string) error {
	if got == want {
		return nil
	}
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	columns := strings.Fields(traceHeader)
	for i := range max(len(g), len(w)) {
		if i >= len(g) || i >= len(w) {
			return fmt.Errorf("tinytest: the traces have %d and %d lines and agree as far as both go", len(g), len(w))
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
				return fmt.Errorf("tinytest: round %s, client %s: %s has hash %s, want %s: the first difference",
					a[0], a[1], columns[c], a[c], b[c])
			}
		}
	}
	return errors.New("tinytest: the traces differ in white space")
}
