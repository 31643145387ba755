package scorer

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spade-dfl/spade-edge/sdk/wire/cbor"
)

// jsonLines is the codec of [JSON].
type jsonLines struct{}

// twice is the only float32, with its negative, whose fewest digits give another one to a reader who rounds them to a
// float64 first and that to a float32. All of them were tried.
const twice = 0x15ae43fd

// appendQuery writes each parameter with the fewest digits that give the same float32.
func (jsonLines) appendQuery(dst []byte, id uint64, sample int, x []float32) []byte {
	dst = append(appendStart(slices.Grow(dst, 64+12*len(x)), id, sample), '[')
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

// appendStart begins a query, as far as its parameters.
func appendStart(dst []byte, id uint64, sample int) []byte {
	dst = strconv.AppendUint(append(dst, `{"id":`...), id, 10)
	dst = strconv.AppendInt(append(dst, `,"sample":`...), int64(sample), 10)
	return append(dst, `,"x":`...)
}

// base64Lines is the codec of [Base64]: but for the parameters of a query, that of JSON.
type base64Lines struct{ jsonLines }

func (base64Lines) appendQuery(dst []byte, id uint64, sample int, x []float32) []byte {
	var piece [768]byte // a multiple of 3: only the last has padding
	dst = append(appendStart(slices.Grow(dst, 64+6*len(x)), id, sample), '"')
	for len(x) > 0 {
		n := min(len(x), len(piece)/4)
		b, _ := cbor.AppendFloats(piece[:0], x[:n]) // queries are finite
		dst = base64.StdEncoding.AppendEncode(dst, b)
		x = x[n:]
	}
	return append(dst, "\"}\n"...)
}

func (jsonLines) next(r *bufio.Reader) ([]byte, int, error) {
	line, err := r.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return nil, 0, fmt.Errorf("has written a line of more than %d bytes, beginning with %s", maxMessage, shown(line))
	case err == nil:
		return line[:len(line)-1], len(line), nil
	case len(line) > 0:
		err = broken(err)
	}
	return nil, 0, err
}

func (jsonLines) hello(line []byte) (h hello, err error) {
	names := [3]string{"hello", "dim", "samples"}
	values, err := object(line, names)
	for i, to := range [3]*uint64{&h.version, &h.dim, &h.samples} {
		if err == nil && values[i] == nil {
			err = errors.New("one of hello, dim and samples is missing")
		}
		if err == nil {
			*to, err = whole(names[i], values[i])
		}
	}
	if err != nil {
		err = fmt.Errorf(`%s, want a hello such as {"hello":1,"dim":3,"samples":20}: %w`, shown(line), err)
	}
	return h, err
}

func (jsonLines) answer(line []byte) (a answer, err error) {
	values, err := object(line, [3]string{"id", "loss", "error"})
	if err == nil {
		err = a.parse(values[0], values[1], values[2])
	}
	if err != nil {
		return a, fmt.Errorf("%s, want an answer such as {\"id\":1,\"loss\":0.5}: %w", shown(line), err)
	}
	a.usable()
	return a, nil
}

// parse reads an answer's values; nil is one that is absent.
func (a *answer) parse(id, loss, reason []byte) (err error) {
	if err := complete(id != nil, loss != nil, reason != nil); err != nil {
		return err
	}
	if a.id, err = whole("id", id); err != nil {
		return err
	}
	if loss != nil {
		return a.read(loss)
	}
	var text string
	if reason[0] != '"' || json.Unmarshal(reason, &text) != nil {
		return fmt.Errorf("error is %s, want a string", shown(reason))
	}
	a.why = fmt.Errorf("has no loss: %q", text)
	return nil
}

// read takes a loss. What some languages print where there is no number is an answer too, if none to build on.
func (a *answer) read(value []byte) error {
	switch word := strings.ToLower(strings.TrimLeft(string(value), "+-")); word {
	case "null", "nan", "inf", "infinity":
		a.why = noLoss(shown(value))
		return nil
	}
	var err error
	a.loss, err = strconv.ParseFloat(string(value), 64)
	if len(bytes.Trim(value, "0123456789+-.eE")) > 0 || err != nil && !errors.Is(err, strconv.ErrRange) {
		return fmt.Errorf("loss is %s, want a number", shown(value))
	}
	return nil
}

// whole reads a whole number.
func whole(name string, value []byte) (uint64, error) {
	n, err := strconv.ParseUint(string(value), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s is %s, want a whole number", name, shown(value))
	}
	return n, nil
}

// object returns the values of an object that has no fields but those named; nil is one that is absent. Values are
// strings or words without white space, such as numbers. Names are compared as they stand between the quotes.
func object(line []byte, names [3]string) (values [3][]byte, err error) {
	const space = " \t\r"
	rest, ok := bytes.CutPrefix(bytes.Trim(line, space), []byte("{"))
	if !ok {
		return values, errors.New("it does not begin with {")
	}
	for {
		key, after, err := quoted(bytes.TrimLeft(rest, space))
		if err != nil {
			return values, err
		}
		after, ok = bytes.CutPrefix(bytes.TrimLeft(after, space), []byte(":"))
		if !ok {
			return values, fmt.Errorf("no colon behind %s", shown(key))
		}
		value := bytes.TrimLeft(after, space)
		if len(value) > 0 && value[0] == '"' {
			_, rest, err = quoted(value)
			if err != nil {
				return values, err
			}
			value = value[:len(value)-len(rest)]
		} else {
			end := bytes.IndexAny(value, ",}"+space)
			if end <= 0 {
				return values, fmt.Errorf("no value of %s, or no end of it", shown(key))
			}
			value, rest = value[:end], value[end:]
		}
		key = key[1 : len(key)-1]
		switch i := slices.IndexFunc(names[:], func(name string) bool { return name == string(key) }); {
		case i < 0:
			return values, fmt.Errorf("%s is unknown, want only %s, %s and %s", shown(key), names[0], names[1], names[2])
		case values[i] != nil:
			return values, fmt.Errorf("%s is there twice", names[i])
		default:
			values[i] = value
		}
		rest = bytes.TrimLeft(rest, space)
		switch {
		case len(rest) == 1 && rest[0] == '}':
			return values, nil
		case len(rest) == 0 || rest[0] != ',':
			return values, errors.New("it does not end with }, or more follows")
		}
		rest = rest[1:]
	}
}

// quoted splits a string, with its quotes, off the front.
func quoted(b []byte) (text, rest []byte, err error) {
	if len(b) == 0 || b[0] != '"' {
		return nil, nil, errors.New("no quote where a name belongs")
	}
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return b[:i+1], b[i+1:], nil
		}
	}
	return nil, nil, errors.New("a string without an end")
}

// shown makes what a program has written fit for a message.
func shown(b []byte) string {
	const most = 60
	if len(b) > most {
		return strconv.QuoteToASCII(string(b[:most])) + "..."
	}
	return strconv.QuoteToASCII(string(b))
}
