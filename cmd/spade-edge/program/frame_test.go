package program

import (
	"testing"

	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/wire"
)

var (
	doneFrame    = admm.Message{Kind: admm.Done, Round: 9}
	probeFrame   = admm.Message{Kind: admm.Probe, Round: 4, Held: 3, Incarnation: 0xdeadbeef}
	releaseFrame = admm.Message{Kind: admm.Release, Round: 2, Resent: true, Grid: []int32{1, -2, 3, 0, 700, 6}}
)

func floatFrame(x []float32) admm.Message {
	return admm.Message{Kind: admm.EdgeMessage, Round: 1, Vector: x}
}

// encoded returns a frame as it crosses the wire.
func encoded(t *testing.T, dim int, f admm.Message) string {
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
