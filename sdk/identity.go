package sdk

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/spade-dfl/spade-edge/sdk/wire"
)

// sections are the parts of a fleet that can differ, in an order that never changes: members tell each other in which
// of them they do. Their names are the keys of the canonical form. A fleet without a task, a stop or records has no section for
// it.
var sections = []string{"dim", "x0", "members", "edges", "method", "privacy", "wire", taskSection, stopSection, recordsSection}

const (
	taskSection    = "task"
	stopSection    = "stop"
	recordsSection = "records"
)

// Hash returns the SHA-256 of the fleet's canonical form: JSON with sorted keys and edges, and with defaults filled in.
func (f *Fleet) Hash() [sha256.Size]byte { return hashForm(f.canonical()) }

func hashForm(form map[string]json.RawMessage) [sha256.Size]byte {
	text, _ := json.Marshal(form) // maps are written in key order
	return sha256.Sum256(text)
}

// canonical returns the fleet's fields by key, with everything that can be said in several ways said in one. A struct
// of numbers, strings and slices always has a JSON form, unless a number has none: such a fleet does not pass Validate.
func (f *Fleet) canonical() map[string]json.RawMessage {
	edges := slices.Clone(f.Edges)
	for i, e := range edges {
		edges[i] = [2]string{min(e[0], e[1]), max(e[0], e[1])}
	}
	slices.SortFunc(edges, func(a, b [2]string) int { return slices.Compare(a[:], b[:]) })
	start := "zeros" // stands for x_0
	if slices.ContainsFunc(f.X0, func(x float32) bool { return x != 0 }) {
		start = ModelHash(f.X0)
	}
	privacy := sorted(f.Privacy)
	if f.Privacy.NonPrivate {
		privacy["accounting"] = json.RawMessage(`""`) // as the form has always been
	}
	wire := sorted(f.wire())
	wire["lossy"] = json.RawMessage("0") // likewise
	form := make(map[string]json.RawMessage)
	for key, value := range map[string]any{
		"run": f.Run, "dim": f.Dim, "x0": start, "members": f.Members, "edges": edges,
		"method": sorted(f.Method), "privacy": privacy, "wire": wire,
	} {
		form[key], _ = json.Marshal(value)
	}
	if f.Task != nil {
		form[taskSection] = canonicalJSON(f.Task)
	}
	if f.Stop != nil {
		form[stopSection], _ = json.Marshal(f.Stop)
	}
	if f.Records != nil {
		form[recordsSection], _ = json.Marshal(f.Records)
	}
	return form
}

// canonicalJSON returns a JSON value with sorted keys and without white space; numbers stay as they are written. What
// is not JSON stays as it is too: such a fleet does not pass Validate.
func canonicalJSON(text []byte) []byte {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return text
	}
	form, _ := json.Marshal(v) // what was decoded can be encoded
	return form
}

// checkTask reports what keeps a task from having a canonical form.
func checkTask(text []byte) error {
	if len(text) > maxTask {
		return fmt.Errorf("has %d bytes, want at most %d", len(text), maxTask)
	}
	if start := bytes.TrimLeft(text, " \t\r\n"); !json.Valid(text) || !utf8.Valid(text) || start[0] != '{' {
		return errors.New("is not a JSON object in UTF-8")
	}
	return nil
}

// sorted returns the fields of a struct as JSON does, by key.
func sorted(v any) map[string]json.RawMessage {
	form := make(map[string]json.RawMessage)
	plain, _ := json.Marshal(v)
	_ = json.Unmarshal(plain, &form)
	return form
}

// ModelHash returns the SHA-256 of x as float32, little endian, in hex.
func ModelHash(x []float32) string {
	h, b := sha256.New(), make([]byte, 0, 4096)
	for part := range slices.Chunk(x, cap(b)/4) {
		b = b[:0]
		for _, v := range part {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
		}
		h.Write(b)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Hello returns what a member says first on a connection: who both are, and which run and fleet it means. Package
// transport/ws takes it and CheckHello.
func (f *Fleet) Hello(self string) func(peer string) []byte {
	h := f.hello()
	return func(peer string) []byte {
		h := h
		h.From, h.To = self, peer
		b, _ := wire.EncodeHello(h) // names and run id of a valid fleet always fit
		return b
	}
}

// CheckHello returns a function that refuses a peer with another fleet.
func (f *Fleet) CheckHello(self string) func(peer string, hello []byte) error {
	want := f.hello()
	for _, name := range sections[len(want.Sections):] {
		want.Sections = append(want.Sections, wire.Section{Name: name}) // to name it to a peer that has one
	}
	return func(peer string, hello []byte) error {
		got, err := wire.DecodeHello(hello)
		if err != nil {
			return err
		}
		want := want
		want.From, want.To = peer, self
		return got.Check(want)
	}
}

// hello returns what all hellos of the fleet have in common.
func (f *Fleet) hello() wire.Hello {
	form := f.canonical()
	h := wire.Hello{Run: f.Run, Fleet: hashForm(form), Codec: wire.Protocol}
	last := 0
	for i, name := range sections {
		s := wire.Section{Name: name}
		if form[name] != nil {
			sum := sha256.Sum256(form[name])
			s.Sum, last = [4]byte(sum[:4]), i+1
		}
		h.Sections = append(h.Sections, s)
	}
	h.Sections = h.Sections[:last:last]
	return h
}
