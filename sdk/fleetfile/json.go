package fleetfile

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/spade-dfl/spade-edge/dpmech/strict"
)

// MaxFile is the maximum length in bytes of a fleet file, a node file and a recipe.
const MaxFile = 16 << 20

const maxFaults = 50

const version = 1

type faults []error

// when adds an error if its first argument is true.
func (f *faults) when(is bool, format string, args ...any) {
	if is {
		*f = append(*f, fmt.Errorf(format, args...))
	}
}

// at adds err, if not nil, prefixed with its location in the file.
func (f *faults) at(place string, err error) {
	if err != nil {
		*f = append(*f, fmt.Errorf("%s: %w", place, err))
	}
}

// In adds the file name to each error in err: "fleetfile: name: error". name may be empty.
func In(name string, err error) error {
	if name != "" {
		name += ": "
	}
	all := Each(err)
	for i, e := range all {
		all[i] = fmt.Errorf("fleetfile: %s%w", name, e)
	}
	if more := len(all) - maxFaults; more > 1 { // in place of one error, the count of an earlier In would be lost
		all = append(all[:maxFaults], fmt.Errorf("fleetfile: %s%d more errors", name, more))
	}
	return errors.Join(all...)
}

// Each returns the errors that are joined in err; nil if err is nil.
func Each(err error) (all []error) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			all = append(all, Each(e)...)
		}
	} else if err != nil {
		all = append(all, err)
	}
	return all
}

// Decode reads a strict JSON file of at most limit bytes into form, see [strict.ReadJSON]. The field "version" of the
// file must equal the parameter versions, unless versions is 0.
func Decode(data []byte, limit, versions int, form any) error {
	if len(data) > limit {
		return fmt.Errorf("the file has %d bytes, want at most %d", len(data), limit)
	}
	var head struct {
		Version json.RawMessage `json:"version"`
	}
	if err := json.Unmarshal(data, &head); err == nil && versions != 0 && string(head.Version) != strconv.Itoa(versions) {
		found := cmp.Or(string(head.Version), "missing")
		return fmt.Errorf("version is %.60s, want %d (the version that this program reads)", found, versions)
	}
	return strict.ReadJSON(data, form)
}

// decodeOwn is like Decode, but for fleet files and node files: it also refuses null.
func decodeOwn(data []byte, form any) error {
	if err := Decode(data, MaxFile, version, form); err != nil {
		return err
	}
	return NoNull(data)
}

// NoNull returns an error if data, which must be valid JSON, contains a null, which encoding/json would treat as a
// missing field.
func NoNull(data []byte) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	for token, err := dec.Token(); err == nil; token, err = dec.Token() {
		if token == nil {
			line := 1 + bytes.Count(data[:dec.InputOffset()], []byte("\n"))
			return fmt.Errorf("line %d has null: give a value, or omit the field", line)
		}
	}
	return nil
}

// Encode returns readable JSON text: one line for each field of a long object, and one line for each element of an
// array of arrays or objects.
func Encode(form any) ([]byte, error) {
	var compact, text bytes.Buffer
	enc := json.NewEncoder(&compact)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(form); err != nil {
		return nil, err
	}
	layOut(&text, bytes.TrimSpace(compact.Bytes()), "\n")
	text.WriteByte('\n')
	return text.Bytes(), nil
}

// layOut writes a compact JSON value in the layout of [Encode]. All lines but the first begin with indent.
func layOut(to *bytes.Buffer, compact []byte, indent string) {
	object := compact[0] == '{' && len(compact) > 2
	short := len(compact) <= 40 && len(indent) > 1 && !bytes.ContainsAny(compact[1:], "[{")
	if short || !object && !(compact[0] == '[' && (compact[1] == '[' || compact[1] == '{')) {
		oneLine(to, compact)
		return
	}
	dec := json.NewDecoder(bytes.NewReader(compact))
	_, _ = dec.Token() // the text is well formed
	to.WriteByte(compact[0])
	for i := 0; dec.More(); i++ {
		if i > 0 {
			to.WriteByte(',')
		}
		to.WriteString(indent + "  ")
		if object {
			name, _ := dec.Token()
			fmt.Fprintf(to, "%q: ", name)
		}
		var value json.RawMessage
		_ = dec.Decode(&value)
		if object {
			layOut(to, value, indent+"  ")
		} else {
			oneLine(to, value)
		}
	}
	to.WriteString(indent)
	to.WriteByte(compact[len(compact)-1])
}

// oneLine writes a compact JSON value with a space after commas and colons. It does not change strings, because JSON
// escapes line feeds in strings.
func oneLine(to *bytes.Buffer, compact []byte) {
	var text bytes.Buffer
	_ = json.Indent(&text, compact, "", "") // the text is well formed
	spaced := bytes.ReplaceAll(text.Bytes(), []byte(",\n"), []byte(", "))
	to.Write(bytes.ReplaceAll(spaced, []byte("\n"), nil))
}

// lean returns the JSON of a valid object, leaving out all fields that are zero.
func lean(object any) json.RawMessage {
	text, _ := json.Marshal(object) // valid: each value has a JSON form
	dec := json.NewDecoder(bytes.NewReader(text))
	_, _ = dec.Token()
	out := []byte{'{'}
	for dec.More() {
		var value json.RawMessage
		name, _ := dec.Token()
		_ = dec.Decode(&value)
		if s := string(value); s == "0" || s == "false" || s == `""` {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(fmt.Appendf(out, "%q:", name), value...)
	}
	return append(out, '}')
}
