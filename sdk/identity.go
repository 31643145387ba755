package sdk

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/sdk/wire"
)

// sections lists the keys of the canonical form. A hello uses them to show where two fleets differ. The order of the
// list must never change. The last four keys are optional, and no fleet has "stop" any more.
var sections = []string{"dim", "x0", "members", "edges", "method", "privacy", "wire", "task", "stop", "records", "pair_keys"}

// Hash returns the SHA-256 hash of the canonical form, JSON with sorted keys.
func (f *Fleet) Hash() [sha256.Size]byte { return hashForm(f.canonical()) }

func hashForm(form map[string]json.RawMessage) [sha256.Size]byte {
	text, _ := json.Marshal(form) // keys in sorted order
	return sha256.Sum256(text)
}

func (f *Fleet) canonical() map[string]json.RawMessage {
	c, start := *f, cmp.Or(f.X0Hash, "zeros")
	c.Edges, c.X0, c.Task = slices.Clone(f.Edges), nil, nil
	for i, e := range c.Edges {
		c.Edges[i] = [2]string{min(e[0], e[1]), max(e[0], e[1])}
	}
	slices.SortFunc(c.Edges, func(a, b [2]string) int { return slices.Compare(a[:], b[:]) })
	if slices.ContainsFunc(f.X0, func(x float32) bool { return x != 0 }) {
		start = ModelHash(f.X0)
	}
	form := sorted(c)
	for key, value := range map[string]any{"x0": start, "method": sorted(f.Method), "privacy": sorted(f.Privacy), "wire": sorted(f.wire())} {
		form[key], _ = json.Marshal(value)
	}
	if f.Task != nil {
		form["task"] = canonicalJSON(f.Task)
	}
	return form
}

// canonicalJSON returns JSON with sorted keys and no white space. Numbers are not reformatted. Text that is not valid
// JSON is returned unchanged.
func canonicalJSON(text []byte) []byte {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return text
	}
	form, _ := json.Marshal(v)
	return form
}

// sorted returns a map from the JSON key of each field of struct v to the JSON of the field's value.
func sorted(v any) map[string]json.RawMessage {
	form := make(map[string]json.RawMessage)
	plain, _ := json.Marshal(v)
	_ = json.Unmarshal(plain, &form)
	return form
}

// ModelHash returns the hex SHA-256 of x encoded as little-endian float32.
func ModelHash(x []float32) string {
	sum := signed.Sum("", x)
	return hex.EncodeToString(sum[:])
}

// Hello returns a function that returns the first message from self to a peer.
func (f *Fleet) Hello(self string) func(peer string) []byte {
	h := f.hello()
	return func(peer string) []byte {
		h := h
		h.From, h.To = self, peer
		b, _ := wire.EncodeHello(h) // always fits if the fleet is valid
		return b
	}
}

// CheckHello returns a function with which member self checks a peer's hello.
func (f *Fleet) CheckHello(self string) func(peer string, hello []byte) error {
	want := f.hello()
	for _, name := range sections[len(want.Sections):] {
		want.Sections = append(want.Sections, wire.Section{Name: name}) // the fleet of the peer may have this section
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
