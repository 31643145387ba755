package wire

import (
	"os"
	"slices"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk/admm"
)

// trials returns the factor by which tests multiply their number of blocks: 4 with SPADE_LONG, otherwise 1.
func trials() int {
	if os.Getenv("SPADE_LONG") != "" {
		return 4
	}
	return 1
}

// TestLengthOfRelease checks that all frames with the same payload have the same length, whatever their receiver and
// whatever was encoded earlier. A release's frame therefore has the same length for all neighbors.
func TestLengthOfRelease(t *testing.T) {
	for _, dim := range []int{1, 6, 10, 14, 15, 31, 110, 5000} {
		c := newCodec(t, dim)
		for kind, m := range map[string]admm.Message{
			"vector": {Kind: admm.Release, Round: 70_000, Vector: normals(dim, 4)},
			"zeros":  {Kind: admm.Release, Round: 3, Vector: make([]float32, dim), Signed: admm.Signed{Own: make([]byte, 100)}},
			"grid":   {Kind: admm.Release, Round: 300, Resent: true, Grid: gridNormals(dim, 20, 4)},
			"still":  {Kind: admm.Release, Round: 1, Vector: repeated(0.5, dim)},
		} {
			want := mustAppend(t, c, &m)
			for to := range 3 {
				mustAppend(t, c, &admm.Message{Kind: admm.Release, Round: 2, Grid: gridNormals(dim, 1000, uint64(to))})
				m.From, m.To = 100*to, to
				if got := mustAppend(t, c, &m); !slices.Equal(got, want) {
					t.Errorf("%s of %d: %d bytes, want the same %d", kind, dim, len(got), len(want))
				}
			}
		}
	}
}
