package scorer

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"

	"github.com/spade-dfl/spade-edge/dpmech"
)

// jsonLines is the codec of [JSON].
var jsonLines = codec{
	appendQuery: appendLine(appendDigits), next: nextLine, unmarshal: unmarshalLine, show: shown,
	wantHello: `a hello such as {"hello":1,"dim":3,"samples":20}`, wantAnswer: `an answer such as {"id":1,"loss":0.5}`,
}

// base64Lines is the codec of [Base64]: but for the parameters of a query, that of JSON.
var base64Lines = func() codec {
	c := jsonLines
	c.appendQuery = appendLine(appendBase64)
	return c
}()

// appendLine writes queries whose parameters are written by one of the functions below.
func appendLine(parameters func(dst []byte, x []float32) []byte) func([]byte, uint64, int, []float32) []byte {
	return func(dst []byte, id uint64, sample int, x []float32) []byte {
		dst = strconv.AppendUint(append(dst, `{"id":`...), id, 10)
		dst = strconv.AppendInt(append(dst, `,"sample":`...), int64(sample), 10)
		dst = parameters(append(dst, `,"x":`...), x)
		return append(dst, "}\n"...)
	}
}

// twice is the only float32, with its negative, whose fewest digits give another one to a reader who rounds them to a
// float64 first and that to a float32. All of them were tried.
const twice = 0x15ae43fd

// appendDigits writes each parameter with the fewest digits that give the same float32.
func appendDigits(dst []byte, x []float32) []byte {
	dst = append(slices.Grow(dst, 64+12*len(x)), '[')
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
	return append(dst, ']')
}

func appendBase64(dst []byte, x []float32) []byte {
	b := appendFloats(nil, x)
	return append(base64.StdEncoding.AppendEncode(append(dst, '"'), b), '"')
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

// bare finds the words that some languages print where there is no number. JSON has none of them.
var bare = regexp.MustCompile(`("loss"\s*:\s*)([-+]?(?i:nan|inf|infinity))(\s*[,}])`)

func unmarshalLine(line []byte, v any) error {
	err := dpmech.ReadJSON(line, v)
	if err != nil && bare.Match(line) {
		return dpmech.ReadJSON(bare.ReplaceAll(line, []byte(`$1"$2"$3`)), v)
	}
	return err
}

// UnmarshalJSON implements json.Unmarshaler. A string is understood if it is one of the words.
func (l *loss) UnmarshalJSON(text []byte) error {
	var word string
	if text[0] == '"' && json.Unmarshal(text, &word) == nil && l.parse(word) == nil && l.word != "" {
		return nil
	}
	return l.parse(string(text))
}
