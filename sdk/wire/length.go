package wire

import "github.com/spade-dfl/spade-edge/sdk/admm"

// Length returns the length, in bytes, of what [Codec.Append] would append for m, and fails where Append fails. It is
// faster, because it writes no CBOR. A goroutine must not call Length while another one calls Append.
func (c *Codec) Length(m *admm.Message) (int, error) {
	var f frame
	if err := c.frame(&f, m); err != nil {
		return 0, err
	}
	return f.length(), nil
}

// length returns the length of f's encoding: a head of the map, a byte for each key, and the values.
func (f *frame) length() int {
	n := 1 + (1 + headLength(f.Version)) + (1 + headLength(f.Kind)) + (1 + headLength(f.Round))
	if f.Resent {
		n += 2
	}
	for _, x := range [...]*uint64{f.Held, f.Device} {
		if x != nil {
			n += 1 + headLength(*x)
		}
	}
	for _, b := range [...][]byte{f.Vector, f.Grid, f.Own, f.Proof, f.Other, f.Countersign} {
		if len(b) > 0 {
			n += 1 + headLength(uint64(len(b))) + len(b)
		}
	}
	return n
}

// headLength returns the length of the head of a CBOR item with argument n (RFC 8949, section 3).
func headLength(n uint64) int {
	switch {
	case n < 24:
		return 1
	case n < 1<<8:
		return 2
	case n < 1<<16:
		return 3
	case n < 1<<32:
		return 5
	}
	return 9
}
