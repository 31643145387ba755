package fleetfile

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/transport"
)

// Marshal returns the file's text, with one line for each member, edge and parameter, from which [Parse] makes an equal
// File. Defaults are left out. It refuses what Parse would refuse. The start vector is not in the text; see
// [File.Write].
func (f *File) Marshal() ([]byte, error) {
	if f.Fleet == nil {
		return nil, errors.New("fleetfile: no fleet")
	}
	if len(f.Members) != len(f.Fleet.Members) {
		return nil, fmt.Errorf("fleetfile: %d members have keys and addresses, want the %d of the fleet",
			len(f.Members), len(f.Fleet.Members))
	}
	for i, m := range f.Members {
		if m.Name != f.Fleet.Members[i] {
			return nil, fmt.Errorf("fleetfile: member %d is %q, want %q as in the fleet", i, m.Name, f.Fleet.Members[i])
		}
	}
	if moves(f.Fleet.X0) && f.X0File == "" {
		return nil, errors.New("fleetfile: X0File is empty, want a name for the file of a start that is not zero")
	}
	w := &writer{}
	w.fleet(f)
	if w.err != nil {
		return nil, fmt.Errorf("fleetfile: %w", w.err)
	}
	if _, err := parse(w.Bytes(), "", func(string, int64) ([]byte, error) { return f.start(), nil }, false); err != nil {
		return nil, err
	}
	return w.Bytes(), nil
}

// Write writes the start vector, if there is one, and then the fleet file, readable for all. It replaces no file.
func (f *File) Write(path string) error {
	text, err := f.Marshal()
	if err != nil {
		return err
	}
	if f.X0File != "" {
		if err := create(filepath.Join(filepath.Dir(path), filepath.FromSlash(f.X0File)), f.start(), 0o644); err != nil {
			return err
		}
	}
	return create(path, text, 0o644)
}

// create writes a new file, and makes sure that it is on disk.
func create(path string, data []byte, mode os.FileMode) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return fmt.Errorf("fleetfile: %w", err)
	}
	_, err = file.Write(data)
	if err == nil {
		err = file.Sync()
	}
	if closing := file.Close(); err == nil {
		err = closing
	}
	if err != nil {
		_ = os.Remove(path) // ours, and of no use
		return fmt.Errorf("fleetfile: %w", err)
	}
	return nil
}

// start returns the bytes of the start vector.
func (f *File) start() []byte {
	b := make([]byte, 0, 4*len(f.Fleet.X0))
	for _, x := range f.Fleet.X0 {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

// writer writes JSON, a field a line.
type writer struct {
	bytes.Buffer
	indent string
	filled bool // the open object has a field
	err    error
}

// open begins an object or an array, and end ends it.
func (w *writer) open(bracket string) {
	w.WriteString(bracket)
	w.indent += "  "
	w.filled = false
}

func (w *writer) end(bracket string) {
	w.indent = w.indent[2:]
	if w.filled {
		w.WriteString("\n" + w.indent)
	}
	w.WriteString(bracket)
	w.filled = true
}

// next begins a line.
func (w *writer) next() {
	if w.filled {
		w.WriteByte(',')
	}
	w.WriteString("\n" + w.indent)
	w.filled = true
}

// field begins a line with a name; v, if not nil, is its value.
func (w *writer) field(name string, v any) {
	w.next()
	w.json(name)
	w.WriteString(": ")
	if v != nil {
		w.json(v)
	}
}

// given writes a field that is not the zero value of its type.
func given[T comparable](w *writer, name string, v T) {
	if zero := *new(T); v != zero {
		w.field(name, v)
	}
}

// list writes an array into the line.
func list[T any](w *writer, items []T) {
	w.WriteByte('[')
	for i, item := range items {
		if i > 0 {
			w.WriteString(", ")
		}
		w.json(item)
	}
	w.WriteByte(']')
}

// json writes a value into the line.
func (w *writer) json(v any) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil && w.err == nil {
		w.err = err // a number without a JSON form
	}
	w.Write(bytes.TrimRight(b.Bytes(), "\n"))
}

func (w *writer) fleet(f *File) {
	w.open("{")
	w.field("version", version)
	w.field("run", f.Fleet.Run)
	w.field("dim", f.Fleet.Dim)
	w.field("x0", nil)
	if f.X0File == "" {
		w.WriteString(`{"zeros": true}`)
	} else {
		sum := sha256.Sum256(f.start())
		w.open("{")
		w.field("file", f.X0File)
		w.field("sha256", hex.EncodeToString(sum[:]))
		w.end("}")
	}
	w.field("graph", nil)
	w.open(`{"edges": [`)
	for _, e := range f.Fleet.Edges {
		w.next()
		list(w, e[:])
	}
	w.end("]}")
	w.field("members", nil)
	w.open("[")
	for _, m := range f.Members {
		w.next()
		w.member(m)
	}
	w.end("]")
	m := f.Fleet.Method
	w.field("method", nil)
	w.open("{")
	w.field("rounds", m.Rounds)
	w.field("cooldown", m.Cooldown)
	w.field("tau", m.Tau)
	w.field("batch", m.Batch)
	w.field("rho", m.Rho)
	w.field("gain", m.Gain)
	w.schedule("eta", m.Eta)
	w.schedule("mu", m.Mu)
	w.field("estimator", m.Estimator)
	w.field("directions", m.Directions)
	w.field("seed", m.Seed)
	w.end("}")
	p := f.Fleet.Privacy
	w.field("privacy", nil)
	w.open("{")
	given(w, "non_private", p.NonPrivate)
	given(w, "clip", p.Clip)
	given(w, "sigma", p.Sigma)
	given(w, "delta", p.Delta)
	given(w, "epsilon_limit", p.EpsilonLimit)
	if !p.NonPrivate {
		w.field("accounting", p.Accounting)
	}
	w.end("}")
	if x := f.Fleet.Wire; x != (sdk.Wire{}) {
		w.field("wire", nil)
		w.open("{")
		given(w, "payload", x.Payload)
		given(w, "grid_bits", x.GridBits)
		given(w, "lossy", x.Lossy)
		w.end("}")
	}
	if f.Fleet.Task != nil {
		recipe, err := f.Task()
		if err != nil && w.err == nil {
			w.err = err
		} else if err == nil {
			w.field("task", nil)
			w.recipe(recipe)
		}
	}
	w.end("}")
	w.WriteByte('\n')
}

// schedule writes one number for all rounds, or a list of one for each.
func (w *writer) schedule(name string, s []float64) {
	w.field(name, nil)
	if len(s) == 1 {
		w.json(s[0])
	} else {
		list(w, s)
	}
}

// member writes a member into one line.
func (w *writer) member(m Member) {
	w.WriteString(`{"name": `)
	w.json(m.Name)
	w.WriteString(`, "keys": `)
	list(w, texts(m.Keys))
	if len(m.Retired) > 0 {
		w.WriteString(`, "retired": `)
		list(w, texts(m.Retired))
	}
	if len(m.Addresses) > 0 {
		w.WriteString(`, "addresses": `)
		list(w, m.Addresses)
	}
	w.WriteString("}")
}

// texts returns keys as they are written.
func texts(keys []ed25519.PublicKey) []string {
	list := make([]string, len(keys))
	for i, k := range keys {
		list[i] = transport.FormatKey(k)
	}
	return list
}
