package scorer

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/fxamacker/cbor/v2"

	"github.com/spade-dfl/spade-edge/dpmech/strict"
)

var jsonLines = codec{
	appendQuery: appendLine, next: nextLine, unmarshal: unmarshalLine, show: shown,
	wantHello: `a hello such as {"hello":1,"dim":3,"samples":20}`, wantAnswer: `an answer such as {"id":1,"loss":0.5}`,
}

// twice holds the bits of the only float32 (up to its sign) whose shortest decimal form yields a different float32 if a
// reader rounds it to float64 first. An exhaustive search over all float32 found no other such value.
const twice = 0x15ae43fd

// appendLine appends an encoded query, with each parameter in the fewest digits that identify the float32.
func appendLine(dst []byte, id uint64, sample int, x []float32) []byte {
	dst = strconv.AppendUint(append(slices.Grow(dst, 64+12*len(x)), `{"id":`...), id, 10)
	dst = strconv.AppendInt(append(dst, `,"sample":`...), int64(sample), 10)
	dst = append(dst, `,"x":[`...)
	for i, v := range x {
		if i > 0 {
			dst = append(dst, ',')
		}
		bits := 32
		if math.Float32bits(v)&math.MaxInt32 == twice {
			bits = 64
		}
		dst = strconv.AppendFloat(dst, float64(v), 'g', -1, bits)
	}
	return append(dst, "]}\n"...)
}

func nextLine(r *bufio.Reader) ([]byte, int, error) {
	line, err := r.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		return nil, 0, fmt.Errorf("has written a line of more than %d bytes, beginning with %s", maxMessage, shown(line))
	}
	if err != nil {
		return nil, len(line), err
	}
	return line[:len(line)-1], 0, nil
}

// bare matches an unquoted word, such as NaN, that some languages print for a loss and that JSON does not allow.
var bare = regexp.MustCompile(`("loss"\s*:\s*)([-+]?(?i:nan|inf|infinity))(\s*[,}])`)

func unmarshalLine(line []byte, v any) error {
	err := strict.ReadJSON(line, v)
	if err != nil && bare.Match(line) {
		return strict.ReadJSON(bare.ReplaceAll(line, []byte(`$1"$2"$3`)), v)
	}
	return err
}

// UnmarshalJSON implements json.Unmarshaler. Besides a number it accepts a string that loss.parse accepts.
func (l *loss) UnmarshalJSON(text []byte) error {
	var word string
	if text[0] == '"' && json.Unmarshal(text, &word) == nil && l.parse(word) == nil && l.word != "" {
		return nil
	}
	return l.parse(string(text))
}

var cborFrames = codec{
	appendQuery: appendFrame, next: nextFrame, unmarshal: unmarshalFrame, show: shownFrame,
	wantHello:  "a hello, a map of the keys 1 (version), 2 (dim), 3 (samples) and perhaps 4 (task) and 5 (data)",
	wantAnswer: "an answer, a map of the keys 1 (id) and 2 (loss) or 3 (error)",
}

// strictCBOR is a decoder that refuses all items that cannot occur in a hello or an answer.
var strictCBOR = func() cbor.DecMode {
	mode, err := cbor.DecOptions{
		DupMapKey: cbor.DupMapKeyEnforcedAPF, IndefLength: cbor.IndefLengthForbidden, MaxNestedLevels: 4,
		ExtraReturnErrors: cbor.ExtraDecErrorUnknownField,
	}.DecMode()
	if err != nil {
		panic(err) // the options are constant, so every test would fail here
	}
	return mode
}()

// queryHead is the size in bytes of an encoded query without its parameters.
const queryHead = 29

// appendFrame appends an encoded query. It does not use the CBOR library, because every field has a fixed offset.
func appendFrame(dst []byte, id uint64, sample int, x []float32) []byte {
	size := 4 * len(x)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(queryHead+size))
	dst = binary.BigEndian.AppendUint64(append(dst, 0xa3, 0x01, 0x1b), id)
	dst = binary.BigEndian.AppendUint64(append(dst, 0x02, 0x1b), uint64(sample))
	dst = binary.BigEndian.AppendUint32(append(dst, 0x03, 0xd8, 0x55, 0x5a), uint32(size))
	for _, v := range x {
		dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(v))
	}
	return dst
}

func nextFrame(r *bufio.Reader) ([]byte, int, error) {
	head, err := r.Peek(4)
	if err != nil {
		return nil, len(head), err
	}
	size := binary.LittleEndian.Uint32(head)
	if size < 1 || size > maxMessage-4 {
		return nil, 0, fmt.Errorf("has sent %d as the length of a frame (the bytes %s), want 1..%d; standard output "+
			"may contain only frames", size, shown(head), maxMessage-4)
	}
	frame, err := r.Peek(4 + int(size))
	if err != nil {
		return nil, len(frame), err
	}
	_, _ = r.Discard(len(frame)) // cannot fail: the whole frame is in the buffer
	return frame[4:], 0, nil
}

func unmarshalFrame(frame []byte, v any) error {
	err := strictCBOR.Unmarshal(frame, v)
	if wrong := (*cbor.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
		key := wrong.StructFieldName[strings.LastIndexByte(wrong.StructFieldName, '.')+1:]
		return fmt.Errorf("key %s: found %s", key, wrong.CBORType)
	}
	return err
}

// UnmarshalCBOR implements cbor.Unmarshaler.
func (l *loss) UnmarshalCBOR(item []byte) error {
	if item[0] == 0xf6 || item[0] == 0xf7 { // CBOR null and undefined
		return l.parse("null")
	}
	l.given = true
	if strictCBOR.Unmarshal(item, &l.value) != nil {
		return fmt.Errorf("cannot decode the loss: found the CBOR bytes %x, want a number", item)
	}
	return nil
}

func shownFrame(b []byte) string {
	if most := 30; len(b) > most {
		return fmt.Sprintf("the frame %x...", b[:most])
	}
	return fmt.Sprintf("the frame %x", b)
}
