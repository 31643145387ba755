package scorer

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"
)

type said struct {
	id   uint64
	loss float64
	why  error // why there is no loss; nil if there is a loss
}

func read(c *codec, message []byte) (said, error) {
	a, err := c.readAnswer(message)
	if err != nil {
		return said{}, err
	}
	return said{*a.ID, a.Loss.value, a.why()}, nil
}

// The package sends exactly the query frames documented in examples/scorer/README.md, and understands the documented
// hellos and answers.
func TestDocumentedFrames(t *testing.T) {
	page, err := os.ReadFile("../../examples/scorer/README.md")
	if err != nil {
		t.Fatal(err)
	}
	var frames [][]byte
	for _, block := range strings.Split(string(page), "```") {
		if !strings.Contains(block, " length: ") {
			continue
		}
		var frame []byte
		for _, line := range strings.Split(strings.Trim(block, "\n"), "\n") {
			line = strings.TrimLeft(line[5:], " ") // what follows the offset at the start of the line
			digits, _, _ := strings.Cut(line, "  ")
			b, err := hex.DecodeString(strings.ReplaceAll(digits, " ", ""))
			if err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			frame = append(frame, b...)
		}
		frames = append(frames, frame)
	}
	if len(frames) != 4 {
		t.Fatalf("%d frames, want 4", len(frames))
	}
	for i, f := range frames {
		if n := binary.LittleEndian.Uint32(f); int(n) != len(f)-4 {
			t.Errorf("frame %d: length %d, and %d bytes follow", i, n, len(f)-4)
		}
	}
	if want := cborFrames.appendQuery(nil, 1, 7, []float32{0.5, -0.25}); !bytes.Equal(frames[0], want) {
		t.Errorf("query %x, want %x", frames[0], want)
	}
	if h, err := cborFrames.readHello(frames[1][4:]); err != nil || h != (hello{1, 2, 36, "", "9f86d081884c7d65"}) {
		t.Errorf("hello %+v, %v", h, err)
	}
	if a, err := read(&cborFrames, frames[2][4:]); err != nil || a != (said{id: 1, loss: 0.125}) {
		t.Errorf("answer %+v, %v", a, err)
	}
	if a, err := read(&cborFrames, frames[3][4:]); err != nil || a.id != 1 || a.why == nil || a.why.Error() != `has no loss: "out of ink"` {
		t.Errorf("answer %+v, %v", a, err)
	}
}

// TestJSONQuery checks that each parameter of a JSON query has the fewest digits that identify the float32. A reader
// that parses the digits as a float64 and rounds it to float32 gets the exact value.
func TestJSONQuery(t *testing.T) {
	x := []float32{0.1, -2.5e-7, math.MaxFloat32, math.SmallestNonzeroFloat32, 0, 1}
	const want = `{"id":7,"sample":12,"x":[0.1,-2.5e-07,3.4028235e+38,1e-45,0,1]}` + "\n"
	if line := string(jsonLines.appendQuery(nil, 7, 12, x)); line != want {
		t.Errorf("%s, want %s", line, want)
	}
	x = append(x, math.Float32frombits(twice), -math.Float32frombits(twice))
	random := rand.New(rand.NewPCG(1, 2))
	for len(x) < 10_000 {
		if v := math.Float32frombits(random.Uint32()); float32(math.Abs(float64(v))) <= math.MaxFloat32 {
			x = append(x, v)
		}
	}
	var m struct{ X []float64 }
	if err := json.Unmarshal(jsonLines.appendQuery(nil, 7, 12, x), &m); err != nil {
		t.Fatal(err)
	}
	for i, v := range m.X {
		if math.Float32bits(float32(v)) != math.Float32bits(x[i]) {
			t.Errorf("parameter %d reads %v, want %v", i, v, x[i])
		}
	}
}

// TestCBORAnswers checks that an answer is understood in every CBOR encoding that a library may choose.
func TestCBORAnswers(t *testing.T) {
	for _, loss := range []any{0, 1, -3, 0.5, 0.1, -2.25, float32(0.75), 1e-300, uint64(1 << 60)} {
		for _, mode := range []cbor.EncOptions{{}, cbor.CanonicalEncOptions(), cbor.CTAP2EncOptions()} {
			enc, err := mode.EncMode()
			if err != nil {
				t.Fatal(err)
			}
			frame, err := enc.Marshal(map[int]any{1: 70000, 2: loss})
			if err != nil {
				t.Fatal(err)
			}
			var want struct {
				Loss float64 `cbor:"2,keyasint"`
			}
			if err := cbor.Unmarshal(frame, &want); err != nil {
				t.Fatal(err)
			}
			if a, err := read(&cborFrames, frame); err != nil || a.why != nil || a.id != 70000 || a.loss != want.Loss {
				t.Errorf("%x: %+v, error %v, want loss %v", frame, a, err, loss)
			}
		}
	}
	for _, bits := range []uint16{0, 0x8000, 1, 0x3ff, 0x400, 0x3c00, 0xc000, 0x7bff, 0xfbff} {
		frame := binary.BigEndian.AppendUint16([]byte{0xa2, 1, 7, 2, 0xf9}, bits)
		var want struct {
			Loss float64 `cbor:"2,keyasint"`
		}
		if err := cbor.Unmarshal(frame, &want); err != nil {
			t.Fatal(err)
		}
		if a, err := read(&cborFrames, frame); err != nil || math.Float64bits(a.loss) != math.Float64bits(want.Loss) {
			t.Errorf("half %#04x is %v, error %v, want %v", bits, a.loss, err, want.Loss)
		}
	}
}

// TestCBORFaults checks the errors for answers without a usable loss and for items that are no answers.
func TestCBORFaults(t *testing.T) {
	for want, m := range map[string]map[int]any{
		"has no loss: the program answered +Inf, want a number between": {1: 1, 2: math.Inf(1)},
		"has no loss: the program answered 1e+31, want":                 {1: 1, 2: 1e31},
		"cannot decode the loss: found the CBOR bytes 63302e35, want":   {1: 1, 2: "0.5"},
		"the answer has both loss and error, or neither":                {1: 1},
		"has no loss: the program answered null, want":                  {1: 1, 2: nil},
		"has no loss: the program answered NaN, want":                   {1: 1, 2: math.NaN()},
		"has sent the frame a1016178, want an answer":                   {1: "x"},
		"the answer has no id":                                          {2: 1},
		"key 1: found negative integer":                                 {1: -1, 2: 1},
	} {
		frame, err := cbor.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		a, err := read(&cborFrames, frame)
		if err == nil {
			err = a.why
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want %s", m, err, want)
		}
	}
}

func TestJSONAnswers(t *testing.T) {
	for line, want := range map[string]said{
		`{"id":1,"loss":0.5}`:                      {id: 1, loss: 0.5},
		"  { \"loss\" : -1.5E-3 ,\t\"id\" : 12 } ": {id: 12, loss: -0.0015},
		`{"id":3,"loss":0.25}` + "\r":              {id: 3, loss: 0.25},
		`{"id":18446744073709551615,"loss":0}`:     {id: math.MaxUint64},
		`{"id":4,"loss":1e-999}`:                   {id: 4},
	} {
		if a, err := read(&jsonLines, []byte(line)); err != nil || a != want {
			t.Errorf("%s: %+v, error %v, want %+v", line, a, err, want)
		}
	}
	for line, want := range map[string]string{
		`{"id":1,"loss":null}`:         "has no loss: the program answered null, want a number",
		`{"id":1,"loss":-nan}`:         "has no loss: the program answered -nan, want a number",
		`{"id":1,"loss":NaN}`:          "has no loss: the program answered NaN, want a number",
		`{"loss" : -Infinity ,"id":1}`: "has no loss: the program answered -Infinity, want a number",
		`{"id":1,"loss":"NaN"}`:        "has no loss: the program answered NaN, want a number",
		`{"id":1,"loss":1e999}`:        "has no loss: the program answered +Inf, want a number between -1e30 and 1e30",
		`{"id":1,"error":"a\n\"b"}`:    `has no loss: "a\n\"b"`,
	} {
		if a, err := read(&jsonLines, []byte(line)); err != nil || a.id != 1 || a.why == nil || a.why.Error() != want {
			t.Errorf("%s: %+v, error %v, want %s", line, a, err, want)
		}
	}
	for line, want := range map[string]string{
		``:                           "unexpected end of JSON input",
		`[]`:                         "found array, want an object",
		`{}`:                         "the answer has no id",
		`{"id"}`:                     "invalid character '}'",
		`{"id":`:                     "unexpected end of JSON input",
		`{"id":1`:                    "unexpected end of JSON input",
		`{"id":1,}`:                  "invalid character '}'",
		`{"id":1 "loss":2}`:          "invalid character '\"'",
		`{"id":1,"loss":2}}`:         "invalid character '}'",
		`{"id`:                       "unexpected end of JSON input",
		`{"id":1.0,"loss":2}`:        "id: found number 1.0, want a whole number",
		`{"id":-1,"loss":2}`:         "id: found number -1, want a whole number",
		`{"id":1}`:                   "the answer has both loss and error, or neither",
		`{"id":1,"loss":0.5} # done`: "invalid character '#' after top-level value",
		`{"id":1,"loss":0x10}`:       "invalid character 'x'",
		`{"id":1,"loss":1_0}`:        "invalid character '_'",
		`{"id":1,"loss":--1}`:        "invalid character '-'",
		`{"id":1,"loss":[1]}`:        `cannot decode the loss: found "[1]", want a number`,
		`{"id":1,"loss":"1"}`:        `cannot decode the loss: found "\"1\"", want a number`,
		`{"id":1,"id":2,"loss":2}`:   "id is given twice",
		`{"id":1,"loss":2,"loss":2}`: "loss is given twice",
		`{"id":1,"error":"\x"}`:      "invalid character 'x'",
		`{"id":1,"error":7}`:         "error: found number, want a string",
		`{"id":1,"loss":1,"more":1}`: `unknown field "more"`,
	} {
		if a, err := read(&jsonLines, []byte(line)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, error %v, want %s", line, a, err, want)
		}
	}
}

// TestFirstMessages checks the errors for a first message that is not a hello, or no message of its format.
func TestFirstMessages(t *testing.T) {
	frame := func(m map[int]any) string {
		text, err := cbor.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return string(binary.LittleEndian.AppendUint32(nil, uint32(len(text)))) + string(text)
	}
	for _, c := range []struct {
		codec      *codec
		text, want string
	}{
		{&jsonLines, "\xff\xfe{\x00\n\x00", "writes UTF-16, want UTF-8"},
		{&jsonLines, frame(map[int]any{1: 1, 2: 3, 3: 5}), `which begin a CBOR frame, want a line of JSON: set "format": "cbor"`},
		{&jsonLines, strings.Repeat("x", maxMessage+1), `has written a line of more than 65536 bytes, beginning with "xxx`},
		{&jsonLines, `{"hello":2,"dim":3,"samples":5}`, "has sent a hello with version 2, want 1"},
		{&jsonLines, `{"hello":1,"dim":0,"samples":5}`, "a hello with dim 0, want 1.."},
		{&jsonLines, `{"hello":1,"dim":3}`, "a hello with samples 0, want 1.."},
		{&jsonLines, `{"hello":1,"dim":3,"samples":5,"data":"` + strings.Repeat("0", 257) + `"}`, "a hello with 257 bytes of data, want at most 256"},
		{&jsonLines, `{"id":1,"loss":0.5}`, `unknown field "id"`},
		{&cborFrames, `{"hello":1,"dim":3,"samples":5}`, `which begin a line of JSON, want a CBOR frame: set "format": "json"`},
		{&cborFrames, "Loading", `has sent 1684107084 as the length of a frame (the bytes "Load"), want 1..65532; standard output may contain only frames`},
		{&cborFrames, "\xff\xff\xff\xff and so on", `has sent 4294967295 as the length of a frame`},
		{&cborFrames, "\x00\x00\x00\x00", `has sent 0 as the length of a frame`},
		{&cborFrames, frame(map[int]any{1: 2, 2: 3, 3: 5}), "has sent a hello with version 2, want 1"},
		{&cborFrames, frame(map[int]any{1: 1, 2: 3}), "a hello with samples 0, want 1.."},
		{&cborFrames, frame(map[int]any{1: 1, 2: 0.5}), "key 2: found primitives"},
	} {
		message, _, err := c.codec.first(bufio.NewReaderSize(strings.NewReader(c.text+"\n"), maxMessage))
		if err == nil {
			_, err = c.codec.readHello(message)
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.40q: error %v, want %s", c.text, err, c.want)
		}
	}
}

// FuzzJSONAnswer checks that the package reads the same values from a valid JSON answer as encoding/json does.
func FuzzJSONAnswer(f *testing.F) {
	for _, line := range []string{`{"id":1,"loss":0.5}`, `{"loss":-1e-7,"id":12}`, `{"id":1,"error":"why \" not"}`, `{"id":1,"loss":NaN}`, `{"hello":1,"dim":3,"samples":20}`,
		`{"hello":1,"dim":3,"samples":20,"task":{"form":"random"},"data":"00ff"}`,
		"loading", `{"id":1,"loss":1,"loss":2}`, `{"id":1,"loss":[1,2]}`} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		if h, err := jsonLines.readHello(line); err == nil {
			var want struct {
				Hello, Dim, Samples uint64
				Task                json.RawMessage
				Data                string
			}
			if json.Unmarshal(line, &want) == nil && (h != hello{want.Hello, want.Dim, want.Samples, object(want.Task), want.Data}) {
				t.Errorf("%q: %+v, want %+v", line, h, want)
			}
		}
		a, err := read(&jsonLines, line)
		if err != nil || a.why != nil {
			return
		}
		var want struct {
			ID   uint64
			Loss float64
		}
		if json.Unmarshal(line, &want) == nil && (a.id != want.ID || a.loss != want.Loss) {
			t.Errorf("%q: %+v, want %+v", line, a, want)
		}
		if !(math.Abs(a.loss) <= 1e30) {
			t.Errorf("%q: loss %v", line, a.loss)
		}
	})
}

// FuzzCBORAnswer checks that the package reads the same values from a CBOR answer as a CBOR library does.
func FuzzCBORAnswer(f *testing.F) {
	for _, m := range []any{map[int]any{1: 7, 2: 0.5}, map[int]any{1: 7, 3: "why not"}, map[int]any{1: 7, 2: nil}, map[int]any{1: 1, 2: 3, 3: 20}, 7, "text"} {
		frame, err := cbor.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(frame)
	}
	f.Add([]byte{0xbf, 1, 7, 2, 0, 0xff})
	f.Add([]byte{0xa4, 1, 1, 2, 9, 3, 9, 4, 0x62, '{', '}'})
	f.Add([]byte{0xa2, 1, 7, 2, 0xf9, 0x3c, 0})
	f.Add([]byte{0xa2, 1, 0x1b, 0, 0, 0, 0, 0, 0, 0, 7, 3, 0x7b, 255, 255, 255, 255, 255, 255, 255, 255})
	f.Fuzz(func(t *testing.T, frame []byte) {
		if h, err := cborFrames.readHello(frame); err == nil {
			var want map[uint64]any
			err := cbor.Unmarshal(frame, &want)
			task, _ := want[4].(string)
			if err != nil || want[1] != h.Version || want[2] != h.Dim || want[3] != h.Samples || task != string(h.Task) {
				t.Errorf("%x: %+v, want %v, error %v", frame, h, want, err)
			}
		}
		a, err := read(&cborFrames, frame)
		if err != nil || a.why != nil {
			return
		}
		var want struct {
			ID   uint64  `cbor:"1,keyasint"`
			Loss float64 `cbor:"2,keyasint"`
		}
		if err := cbor.Unmarshal(frame, &want); err != nil || a.id != want.ID || a.loss != want.Loss {
			t.Errorf("%x: %+v, want %+v, error %v", frame, a, want, err)
		}
	})
}

// FuzzNext checks that the function next of each codec splits a byte stream into messages of at most the maximum length
// and loses no byte.
func FuzzNext(f *testing.F) {
	f.Add([]byte("{}\n\n{\n"))
	f.Add([]byte("\x01\x00\x00\x00\xa0\x02\x00\x00\x00\xa1"))
	f.Add(bytes.Repeat([]byte("x"), maxMessage+1))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, c := range []*codec{&jsonLines, &cborFrames} {
			r := bufio.NewReaderSize(bytes.NewReader(data), maxMessage)
			at, size := 0, 0
			for {
				msg, rest, err := c.next(r)
				if rest > len(data)-at {
					t.Fatalf("%d bytes of a message that breaks off, and only %d are there", rest, len(data)-at)
				}
				if err != nil {
					break
				}
				begins := bytes.Index(data[at:], msg)
				if size = begins + len(msg); begins < 0 || len(msg) >= maxMessage {
					t.Fatalf("a message of %d bytes taken from %d", len(msg), len(data)-at)
				}
				at += size
			}
		}
	})
}
