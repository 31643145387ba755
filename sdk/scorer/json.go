package scorer

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"

	"github.com/spade-dfl/spade-edge/dpmech"
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
	err := dpmech.ReadJSON(line, v)
	if err != nil && bare.Match(line) {
		return dpmech.ReadJSON(bare.ReplaceAll(line, []byte(`$1"$2"$3`)), v)
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
