package scorer

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spade-dfl/spade-edge/zoest"
)

const version = 1

type codec struct {
	// appendQuery appends an encoded query, whose parameters must be finite.
	appendQuery func(dst []byte, id uint64, sample int, x []float32) []byte
	// next reads the next message from a reader with a buffer of maxMessage bytes. The message is valid until the next
	// call. If err is io.EOF, rest is the length of an incomplete last message.
	next      func(r *bufio.Reader) (message []byte, rest int, err error)
	unmarshal func(message []byte, v any) error
	show      func(message []byte) string // returns a readable form for errors
	// Examples of the expected hello and answer, for error messages.
	wantHello, wantAnswer string
}

var codecs = map[Format]*codec{JSON: &jsonLines, CBOR: &cborFrames}

// hello is the first message of a process.
type hello struct {
	Version uint64 `json:"hello" cbor:"1,keyasint"`
	Dim     uint64 `json:"dim" cbor:"2,keyasint"`
	Samples uint64 `json:"samples" cbor:"3,keyasint"`
	Task    object `json:"task" cbor:"4,keyasint"`
	Data    string `json:"data" cbor:"5,keyasint"` // a digest of the data; empty if the program does not have one
}

// object is the text of a JSON object. In the JSON format the object is part of the line; in the CBOR format it is a
// text string.
type object string

// UnmarshalJSON implements json.Unmarshaler.
func (o *object) UnmarshalJSON(text []byte) error {
	*o = object(text)
	return nil
}

// answer is the answer of a process to a query: a loss, or the reason why there is no loss.
type answer struct {
	ID    *uint64 `json:"id" cbor:"1,keyasint"`
	Loss  loss    `json:"loss" cbor:"2,keyasint"`
	Error *string `json:"error" cbor:"3,keyasint"`
}

// loss is the number in an answer, or the word that the program wrote in place of a number.
type loss struct {
	value float64
	given bool
	word  string // such as null or -nan; empty if there is a number
}

// first is next for the first message. It recognizes the other format by its first bytes: the length of a frame, below
// 16 MiB, or the brace of a line. It waits for one byte only, because a line may be short.
func (c *codec) first(r *bufio.Reader) ([]byte, int, error) {
	_, _ = r.Peek(1)
	switch head, _ := r.Peek(min(4, r.Buffered())); {
	case c == &jsonLines && bytes.HasPrefix(head, []byte("\xff\xfe")):
		return nil, 0, errors.New("writes UTF-16, want UTF-8")
	case c == &jsonLines && bytes.IndexByte(head, 0) >= 0:
		return nil, 0, fmt.Errorf("has sent the bytes %s, which begin a CBOR frame, want a line of JSON: set \"format\": \"cbor\" "+
			"in the section \"oracle\"", shown(head))
	case c == &cborFrames && bytes.HasPrefix(head, []byte(`{"`)):
		return nil, 0, fmt.Errorf("has sent the bytes %s, which begin a line of JSON, want a CBOR frame: set \"format\": \"json\" "+
			"in the section \"oracle\", or remove the field", shown(head))
	}
	return c.next(r)
}

func (c *codec) readHello(message []byte) (h hello, err error) {
	if err := c.unmarshal(message, &h); err != nil {
		return h, fmt.Errorf("has sent %s as the first message, want %s: %w", c.show(message), c.wantHello, err)
	}
	switch {
	case h.Version != version:
		return h, fmt.Errorf("has sent a hello with version %d, want %d", h.Version, version)
	case h.Dim < 1 || h.Dim > maxDim:
		return h, fmt.Errorf("has sent a hello with dim %d, want 1..%d", h.Dim, maxDim)
	case h.Samples < 1 || h.Samples > maxSamples:
		return h, fmt.Errorf("has sent a hello with samples %d, want 1..%d", h.Samples, maxSamples)
	case len(h.Data) > maxDigest:
		return h, fmt.Errorf("has sent a hello with %d bytes of data, want at most %d: a digest, such as a SHA-256", len(h.Data), maxDigest)
	}
	return h, nil
}

// readAnswer reads an answer, which has an id and either a loss or a reason.
func (c *codec) readAnswer(message []byte) (answer, error) {
	var a answer
	err := c.unmarshal(message, &a)
	switch {
	case err != nil:
	case a.ID == nil:
		err = errors.New("the answer has no id")
	case a.Loss.given == (a.Error != nil):
		err = errors.New("the answer has both loss and error, or neither; want exactly one of these fields")
	default:
		return a, nil
	}
	return a, fmt.Errorf("has sent %s, want %s: %w", c.show(message), c.wantAnswer, err)
}

// Said is the error for a query that a program answers with a reason instead of a loss. Text is the reason, such as a
// traceback of several lines.
type Said struct{ Text string }

func (s Said) Error() string { return fmt.Sprintf("has no loss: %q", s.Text) }

// why returns the reason why an answer has no usable loss, or nil if it has one.
func (a *answer) why() error {
	if a.Error != nil {
		return Said{*a.Error}
	}
	return a.Loss.why()
}

func (l *loss) why() error {
	if l.word != "" {
		return fmt.Errorf("has no loss: the program answered %s, want a number", l.word)
	}
	if !zoest.Usable(l.value) {
		return fmt.Errorf("has no loss: the program answered %v, want a number between -1e30 and 1e30", l.value)
	}
	return nil
}

// parse sets l to the decimal number in text, or to one of the words, such as nan, that some languages print in place
// of a number.
func (l *loss) parse(text string) (err error) {
	l.given = true
	switch strings.ToLower(strings.TrimLeft(text, "+-")) {
	case "null", "nan", "inf", "infinity":
		l.word = text
		return nil
	}
	l.value, err = strconv.ParseFloat(text, 64)
	if strings.ContainsAny(text, "xX_") || err != nil && !errors.Is(err, strconv.ErrRange) {
		return fmt.Errorf("cannot decode the loss: found %s, want a number", shown([]byte(text)))
	}
	return nil
}

func shown(b []byte) string {
	const most = 60
	if len(b) > most {
		return strconv.QuoteToASCII(string(b[:most])) + "..."
	}
	return strconv.QuoteToASCII(string(b))
}
