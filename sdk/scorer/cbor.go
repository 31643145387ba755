package scorer

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
)

// cborFrames is the codec of [CBOR]. So little of it is needed that a library would cost more than it saves.
type cborFrames struct{}

// queryHead is the size of a query without its parameters.
const queryHead = 29

func (cborFrames) appendQuery(dst []byte, id uint64, sample int, x []float32) []byte {
	size := 4 * len(x)
	dst = slices.Grow(dst, 4+queryHead+size)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(queryHead+size))
	dst = binary.BigEndian.AppendUint64(append(dst, 0xa3, 0x01, 0x1b), id)
	dst = binary.BigEndian.AppendUint64(append(dst, 0x02, 0x1b), uint64(sample))
	dst = binary.BigEndian.AppendUint32(append(dst, 0x03, 0xd8, 0x55, 0x5a), uint32(size))
	return appendFloats(dst, x)
}

// appendFloats appends float32 numbers, the lowest byte first.
func appendFloats(dst []byte, x []float32) []byte {
	at := len(dst)
	dst = slices.Grow(dst, 4*len(x))[:at+4*len(x)]
	for i, v := range x {
		binary.LittleEndian.PutUint32(dst[at+4*i:], math.Float32bits(v))
	}
	return dst
}

func (cborFrames) next(r *bufio.Reader) ([]byte, int, error) {
	head, err := r.Peek(4)
	if err != nil {
		if len(head) > 0 {
			err = broken(err)
		}
		return nil, 0, err
	}
	size := binary.LittleEndian.Uint32(head)
	if size < 1 || size > maxMessage-4 {
		return nil, 0, fmt.Errorf("announces a frame of %d bytes by writing %s, want 1..%d (and nothing but frames on standard output)",
			size, shown(head), maxMessage-4)
	}
	frame, err := r.Peek(4 + int(size))
	if err != nil {
		return nil, 0, broken(err)
	}
	_, _ = r.Discard(len(frame)) // it is in the buffer
	return frame[4:], len(frame), nil
}

func (cborFrames) hello(frame []byte) (hello, error) {
	var h hello
	var seen [4]bool
	err := pairs(frame, func(key uint64, value []byte) (rest []byte, err error) {
		if key < 1 || key > 3 {
			return nil, fmt.Errorf("key %d is unknown, want only 1 to 3", key)
		}
		if seen[key] {
			return nil, errTwice(fmt.Sprintf("key %d", key))
		}
		seen[key] = true
		major, n, rest, err := cborHead(value)
		if err == nil && major != majorUint {
			err = errors.New("want a whole number")
		}
		if err != nil {
			return nil, fmt.Errorf("key %d: %w", key, err)
		}
		*[...]*uint64{1: &h.version, 2: &h.dim, 3: &h.samples}[key] = n
		return rest, nil
	})
	if err == nil && seen != [4]bool{false, true, true, true} {
		err = errors.New("one of the keys 1, 2 and 3 is missing")
	}
	if err != nil {
		return h, fmt.Errorf("the frame %s, want a hello, a map of the keys 1 (version), 2 (dim) and 3 (samples): %w", shownHex(frame), err)
	}
	return h, nil
}

func (cborFrames) answer(frame []byte) (answer, error) {
	var a answer
	var id, loss, why bool
	err := pairs(frame, func(key uint64, value []byte) (rest []byte, err error) {
		major, n, rest, err := cborHead(value)
		switch {
		case err != nil:
			return nil, fmt.Errorf("key %d: %w", key, err)
		case key == 1 && id, key == 2 && loss, key == 3 && why:
			return nil, errTwice(fmt.Sprintf("key %d", key))
		case key == 1 && major == majorUint:
			id, a.id = true, n
		case key == 2 && major == majorUint:
			loss, a.loss = true, float64(n)
		case key == 2 && major == majorNegative:
			loss, a.loss = true, -1-float64(n)
		case key == 2 && major == majorOther:
			loss = true
			if a.loss, err = float(value[0], n); err != nil {
				return nil, err
			}
			if value[0] == cborNull {
				a.why = noLoss("null")
			}
		case key == 3 && major == majorText && n <= uint64(len(rest)):
			why = true
			a.why = fmt.Errorf("has no loss: %q", rest[:n])
			rest = rest[n:]
		default:
			return nil, fmt.Errorf("key %d is unknown, or has a value of the wrong type", key)
		}
		return rest, nil
	})
	if err == nil {
		err = complete(id, loss, why)
	}
	if err != nil {
		return a, fmt.Errorf("the frame %s, want an answer, a map of the keys 1 (id) and 2 (loss) or 3 (error): %w", shownHex(frame), err)
	}
	a.usable()
	return a, nil
}

// Major types of CBOR, RFC 8949 section 3.1, and the value null.
const (
	majorUint     = 0
	majorNegative = 1
	majorText     = 3
	majorMap      = 5
	majorOther    = 7
	cborNull      = 0xf6
)

var errCut = errors.New("it breaks off")

// cborHead splits the head off an item: its major type and its argument. Any form of the argument will do, but for
// indefinite lengths.
func cborHead(b []byte) (major byte, arg uint64, rest []byte, err error) {
	if len(b) == 0 {
		return 0, 0, nil, errCut
	}
	major, short, rest := b[0]>>5, b[0]&31, b[1:]
	if short < 24 {
		return major, uint64(short), rest, nil
	}
	if short > 27 {
		return 0, 0, nil, fmt.Errorf("the byte %#02x begins no item that is understood here", b[0])
	}
	size := 1 << (short - 24)
	if len(rest) < size {
		return 0, 0, nil, errCut
	}
	for _, c := range rest[:size] {
		arg = arg<<8 | uint64(c)
	}
	return major, arg, rest[size:], nil
}

// float returns the number that an item of major type 7 is, and NaN for null.
func float(first byte, arg uint64) (float64, error) {
	switch first {
	case cborNull:
		return math.NaN(), nil
	case 0xf9:
		return half(uint16(arg)), nil
	case 0xfa:
		return float64(math.Float32frombits(uint32(arg))), nil
	case 0xfb:
		return math.Float64frombits(arg), nil
	}
	return 0, fmt.Errorf("loss begins with the byte %#02x, want a number", first)
}

// half returns the number that 16 bits stand for, IEEE 754 binary16.
func half(bits uint16) float64 {
	exponent, fraction := int(bits>>10&31), float64(bits&1023)
	var x float64
	switch exponent {
	case 0:
		x = math.Ldexp(fraction, -24)
	case 31:
		x = math.Inf(1)
		if fraction > 0 {
			x = math.NaN()
		}
	default:
		x = math.Ldexp(1024+fraction, exponent-25)
	}
	if bits>>15 == 1 {
		x = -x
	}
	return x
}

// pairs goes through a map whose keys are whole numbers. field is given what follows a key, and returns what follows its value.
func pairs(frame []byte, field func(key uint64, value []byte) (rest []byte, err error)) error {
	major, n, rest, err := cborHead(frame)
	if err != nil {
		return err
	}
	if major != majorMap {
		return errors.New("it is not a map")
	}
	for ; n > 0; n-- {
		var key uint64
		major, key, rest, err = cborHead(rest)
		if err == nil && major != majorUint {
			err = errors.New("a key that is not a whole number")
		}
		if err == nil {
			rest, err = field(key, rest)
		}
		if err != nil {
			return err
		}
	}
	if len(rest) > 0 {
		return fmt.Errorf("%d bytes follow the map", len(rest))
	}
	return nil
}

// shownHex makes bytes fit for a message.
func shownHex(b []byte) string {
	const most = 30
	if len(b) > most {
		return fmt.Sprintf("%x...", b[:most])
	}
	return fmt.Sprintf("%x", b)
}
