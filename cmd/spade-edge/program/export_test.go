package program

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
)

// TestNPYHeader checks that the header ends, and thus the numbers begin, at a multiple of 64 bytes for a model of any
// length.
func TestNPYHeader(t *testing.T) {
	for _, n := range []int{1, 9, 10, 999, 123456, 1 << 28} {
		if b := cli.NpyHeader(n); len(b)%64 != 0 || b[len(b)-1] != '\n' || int(binary.LittleEndian.Uint16(b[8:]))+10 != len(b) {
			t.Errorf("%d numbers: %q", n, b)
		}
	}
	if got, want := string(cli.NpyHeader(6)), "\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, 'shape': (6,), }"; !strings.HasPrefix(got, want) || len(got) != 128 {
		t.Errorf("header %q", got)
	}
}
