package program

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
)

// The header ends, and the numbers begin, at a multiple of 64 bytes for any length of the model.
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

// readNPY reads a one-dimensional '<f4' file of format 1.0 as strictly as NumPy does.
func readNPY(t *testing.T, path string) []float32 {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(b) < 10 || string(b[:8]) != "\x93NUMPY\x01\x00" {
		t.Fatalf("magic %q", b[:min(10, len(b))])
	}
	end := 10 + int(binary.LittleEndian.Uint16(b[8:]))
	header := string(b[10:end])
	var n int
	if _, err := fmt.Sscanf(header, "{'descr': '<f4', 'fortran_order': False, 'shape': (%d,), }", &n); err != nil || end%64 != 0 || header[len(header)-1] != '\n' ||
		strings.TrimLeft(header[strings.Index(header, "}")+1:], " ") != "\n" || len(b) != end+4*n {
		t.Fatalf("header %q, %d bytes for %d numbers: %v", header, len(b)-end, n, err)
	}
	x := make([]float32, n)
	for i := range x {
		x[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[end+4*i:]))
	}
	return x
}
