package main

import (
	"testing"

	"github.com/spade-dfl/spade-edge/sdk/wire"
)

var (
	doneFrame    = wire.Frame{Kind: wire.Done, Round: 9}
	hailFrame    = wire.Frame{Kind: wire.Hail, Round: 4, Held: 3, Life: 0xdeadbeef}
	releaseFrame = wire.Frame{Kind: wire.Release, Round: 2, Resent: true, Grid: []int32{1, -2, 3, 0, 700, 6}}
)

func floatFrame(x []float32) wire.Frame { return wire.Frame{Kind: wire.Message, Round: 1, Vector: x} }

// encoded returns a frame as it crosses the wire.
func encoded(t *testing.T, dim int, f wire.Frame) string {
	t.Helper()
	codec, err := wire.NewCodec(dim)
	if err != nil {
		t.Fatal(err)
	}
	b, err := codec.Append(nil, &f)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
