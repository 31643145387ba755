package scorer

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/spade-dfl/spade-edge/sdk/wire/cbor"
)

// cborFrames is the codec of [CBOR].
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
	dst, _ = cbor.AppendFloats(dst, x) // queries are finite
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
		return nil, 0, fmt.Errorf("announces a frame of %d bytes by writing %s, want 1..%d (and nothing but frames on "+
			"standard output)", size, shown(head), maxMessage-4)
	}
	frame, err := r.Peek(4 + int(size))
	if err != nil {
		return nil, 0, broken(err)
	}
	_, _ = r.Discard(len(frame)) // it is in the buffer
	return frame[4:], len(frame), nil
}

// cborFields are the fields of a hello or an answer, which both have the keys 1 to 3.
type cborFields [4]cbor.Item

var (
	helloNames  = []string{1: "version", 2: "dim", 3: "samples"}
	answerNames = []string{1: "id", 2: "loss", 3: "error"}
)

func (cborFrames) hello(frame []byte) (h hello, err error) {
	var f cborFields
	if err = cbor.Unmarshal(frame, f[:], helloNames); err == nil {
		var errs [3]error
		h.version, errs[0] = f[1].AnyUint(helloNames[1])
		h.dim, errs[1] = f[2].AnyUint(helloNames[2])
		h.samples, errs[2] = f[3].AnyUint(helloNames[3])
		err = cmp.Or(errs[:]...)
	}
	if err != nil {
		err = fmt.Errorf("the frame %s, want a hello, a map of the keys 1 (version), 2 (dim) and 3 (samples): %w",
			shownHex(frame), err)
	}
	return h, err
}

func (cborFrames) answer(frame []byte) (a answer, err error) {
	// An answer as examples/scorer/README.md shows it needs no library.
	if len(frame) == 21 && [3]byte(frame) == [3]byte{0xa2, 0x01, 0x1b} && frame[11] == 0x02 && frame[12] == 0xfb {
		a.id, a.loss = binary.BigEndian.Uint64(frame[3:]), math.Float64frombits(binary.BigEndian.Uint64(frame[13:]))
		a.usable()
		return a, nil
	}
	var f cborFields
	if err = cbor.Unmarshal(frame, f[:], answerNames); err == nil {
		err = f.answer(&a)
	}
	if err != nil {
		return a, fmt.Errorf("the frame %s, want an answer, a map of the keys 1 (id) and 2 (loss) or 3 (error): %w",
			shownHex(frame), err)
	}
	a.usable()
	return a, nil
}

func (f *cborFields) answer(a *answer) (err error) {
	if err := complete(f[1] != nil, f[2] != nil, f[3] != nil); err != nil {
		return err
	}
	if a.id, err = f[1].AnyUint(answerNames[1]); err != nil {
		return err
	}
	if f[2] != nil {
		a.loss, err = f[2].AnyNumber(answerNames[2])
		if math.IsNaN(a.loss) && f[2].String() == "null" {
			a.why = noLoss("null")
		}
		return err
	}
	text, err := f[3].AnyText(answerNames[3])
	a.why = fmt.Errorf("has no loss: %q", text)
	return err
}

// shownHex makes bytes fit for a message.
func shownHex(b []byte) string {
	if most := 30; len(b) > most {
		return fmt.Sprintf("%x...", b[:most])
	}
	return fmt.Sprintf("%x", b)
}
