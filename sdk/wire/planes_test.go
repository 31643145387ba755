package wire

import (
	"bytes"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk/admm"
)

// Decode fails for each of these errors in planes of dimension 100.
func TestDecodeRefusesPlanes(t *testing.T) {
	const dim = 100
	repeat := func(b ...byte) (p []byte) {
		for _, x := range b {
			p = append(p, blockRepeat, x)
		}
		return p
	}
	for _, m := range []struct {
		name   string
		planes []byte
		want   string
	}{
		{"unknown form", append(repeat(0, 0), 3, 0), "vector: plane 2, block 0: found a block of form 3, wanted 0, 1 or 2"},
		{"three planes", repeat(0, 0, 0), "vector: plane 3, block 0: found the end of the data, wanted a block"},
		{"five planes", repeat(0, 0, 0, 0, 0), "vector: found 2 bytes after the last block, wanted none"},
		{"repeat cut", append(repeat(0), blockRepeat),
			"vector: plane 1, block 0: found 0 bytes in a block of form 1, wanted at least 1"},
		{"raw cut", append([]byte{blockRaw}, make([]byte, 99)...),
			"vector: plane 0, block 0: found 99 bytes in a block of form 0, wanted at least 100"},
		{"length cut", []byte{blockHuff0, 1}, "found 1 bytes in a block of form 2, wanted at least 2"},
		{"length beyond the end", []byte{blockHuff0, 9, 0, 1, 2, 3}, "found a compressed length of 9, wanted at most 3"},
		{"length of no use", append([]byte{blockHuff0, 98, 0}, make([]byte, 200)...),
			"found a compressed length of 98, wanted at most 97"},
		{"empty huff0", []byte{blockHuff0, 0, 0}, "compressed block: "},
		{"huff0 of nonsense", append([]byte{blockHuff0, 20, 0}, bytes.Repeat([]byte{0xa5}, 20)...), "compressed block: "},
		{"NaN", repeat(0, 0, 0xc0, 0x7f), "vector: found NaN at coordinate 0"},
		{"Inf", repeat(0, 0, 0x80, 0x7f), "vector: found +Inf at coordinate 0"},
	} {
		var f admm.Message
		checkError(t, m.name, newCodec(t, dim).Decode(pairs(1, 1, 2, 2, 3, 0, 5, m.planes), &f), m.want)
	}
	var f admm.Message
	if err := newCodec(t, dim).Decode(pairs(1, 1, 2, 2, 3, 0, 5, repeat(0, 0, 0xc0, 0xbf)), &f); err != nil ||
		!sameBits(f.Vector, repeated(-1.5, dim)) {
		t.Errorf("sound planes: %v, %v", f.Vector, err)
	}
}
