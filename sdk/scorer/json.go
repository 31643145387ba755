package scorer

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// jsonLines is the codec of [JSON].
type jsonLines struct{}

// appendQuery writes a parameter with the digits of a float64, so that whoever reads it as one has the same number;
// those of a float32 would be fewer.
func (jsonLines) appendQuery(dst []byte, id uint64, sample int, x []float32) []byte {
	dst = append(dst, `{"id":`...)
	dst = strconv.AppendUint(dst, id, 10)
	dst = append(dst, `,"sample":`...)
	dst = strconv.AppendInt(dst, int64(sample), 10)
	dst = append(dst, `,"x":[`...)
	for i, v := range x {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendFloat(dst, float64(v), 'g', -1, 64)
	}
	return append(dst, "]}\n"...)
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

func (jsonLines) hello(line []byte) (hello, error) {
	var h hello
	var seen [3]bool
	fields := [3]struct {
		name string
		at   *uint64
	}{{"hello", &h.version}, {"dim", &h.dim}, {"samples", &h.samples}}
	err := object(line, func(key, value []byte) error {
		for i, f := range fields {
			if string(key) != f.name {
				continue
			}
			if seen[i] {
				return errTwice(f.name)
			}
			seen[i] = true
			var err error
			*f.at, err = whole(f.name, value)
			return err
		}
		return fmt.Errorf("%s is unknown, want only hello, dim and samples", shown(key))
	})
	if err == nil && seen != [3]bool{true, true, true} {
		err = errors.New("one of hello, dim and samples is missing")
	}
	if err != nil {
		return h, fmt.Errorf(`%s, want a hello such as {"hello":1,"dim":3,"samples":20}: %w`, shown(line), err)
	}
	return h, nil
}

func (jsonLines) answer(line []byte) (answer, error) {
	var a answer
	var id, loss, why bool
	err := object(line, func(key, value []byte) (err error) {
		switch string(key) {
		case "id":
			if id {
				return errTwice("id")
			}
			id = true
			a.id, err = whole("id", value)
			return err
		case "loss":
			if loss {
				return errTwice("loss")
			}
			loss = true
			return a.read(value)
		case "error":
			if why {
				return errTwice("error")
			}
			why = true
			var text string
			if json.Unmarshal(value, &text) != nil || value[0] != '"' {
				return fmt.Errorf("error is %s, want a string", shown(value))
			}
			a.why = fmt.Errorf("has no loss: %q", text)
			return nil
		}
		return fmt.Errorf("%s is unknown, want only id, loss and error", shown(key))
	})
	if err == nil {
		err = complete(id, loss, why)
	}
	if err != nil {
		return a, fmt.Errorf("%s, want an answer such as {\"id\":1,\"loss\":0.5}: %w", shown(line), err)
	}
	a.usable()
	return a, nil
}

// read takes a loss. What some languages print where there is no number is an answer too, if none to build on.
func (a *answer) read(value []byte) error {
	switch word := strings.ToLower(strings.TrimLeft(string(value), "+-")); word {
	case "null", "nan", "inf", "infinity":
		a.why = noLoss(shown(value))
		return nil
	}
	for _, c := range value {
		if (c < '0' || c > '9') && c != '-' && c != '+' && c != '.' && c != 'e' && c != 'E' {
			return fmt.Errorf("loss is %s, want a number", shown(value))
		}
	}
	loss, err := strconv.ParseFloat(string(value), 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return fmt.Errorf("loss is %s, want a number", shown(value))
	}
	a.loss = loss
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

// object goes through the fields of an object whose values are strings or words without white space, such as numbers.
// Keys are as they stand between the quotes.
func object(line []byte, field func(key, value []byte) error) error {
	const space = " \t\r"
	rest, ok := bytes.CutPrefix(bytes.Trim(line, space), []byte("{"))
	if !ok {
		return errors.New("it does not begin with {")
	}
	for {
		key, after, err := quoted(bytes.TrimLeft(rest, space))
		if err != nil {
			return err
		}
		after, ok = bytes.CutPrefix(bytes.TrimLeft(after, space), []byte(":"))
		if !ok {
			return fmt.Errorf("no colon behind %s", shown(key))
		}
		value := bytes.TrimLeft(after, space)
		if len(value) > 0 && value[0] == '"' {
			_, rest, err = quoted(value)
			if err != nil {
				return err
			}
			value = value[:len(value)-len(rest)]
		} else {
			end := bytes.IndexAny(value, ",}"+space)
			if end <= 0 {
				return fmt.Errorf("no value of %s, or no end of it", shown(key))
			}
			value, rest = value[:end], value[end:]
		}
		if err := field(key[1:len(key)-1], value); err != nil {
			return err
		}
		rest = bytes.TrimLeft(rest, space)
		switch {
		case len(rest) == 1 && rest[0] == '}':
			return nil
		case len(rest) == 0 || rest[0] != ',':
			return errors.New("it does not end with }, or more follows")
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
