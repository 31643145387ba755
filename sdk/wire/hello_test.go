package wire

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

func sampleHello() Hello {
	h := Hello{Run: "ward-7", From: "gateway-a", To: "gateway-b", Codec: frameVersion}
	for i := range h.Fleet {
		h.Fleet[i] = byte(i * 7)
	}
	return h
}

func sampleSections() Hello {
	h := sampleHello()
	h.Sections = []Section{
		{"graph", [4]byte{1, 2, 3, 4}}, {"method", [4]byte{5, 6, 7, 8}}, {"privacy", [4]byte{9, 10, 11, 12}},
		{"", [4]byte{13, 14, 15, 16}},
	}
	return h
}

// sameHello reports whether the transmitted fields of two hellos are equal.
func sameHello(a, b Hello) bool {
	same := slices.EqualFunc(a.Sections, b.Sections, func(x, y Section) bool { return x.Sum == y.Sum })
	a.Sections, b.Sections = nil, nil
	return same && reflect.DeepEqual(a, b)
}

func TestHelloRoundTrip(t *testing.T) {
	long := strings.Repeat("ä", 32)
	for _, h := range []Hello{
		sampleHello(),
		sampleSections(),
		{Run: long, From: long, To: long, Codec: 1<<32 - 1, Sections: make([]Section, maxSections)},
		{Run: "r", From: "a", To: "b", Codec: 1},
		{Run: long, From: long, To: long, Fleet: [32]byte{31: 255}, Codec: 1<<32 - 1},
		{Run: "ø\x00\n", From: "名前", To: "🦆", Codec: 24},
	} {
		b := mustHello(h)
		if len(b) > maxHello || len(b) > MaxFrame(1) {
			t.Errorf("%d bytes, above %d", len(b), maxHello)
		}
		got, err := DecodeHello(b)
		if err != nil || !sameHello(got, h) {
			t.Errorf("%+v, %v, want %+v", got, err, h)
		}
		for n := range b {
			if _, err := DecodeHello(b[:n]); err == nil {
				t.Errorf("%d of %d bytes were accepted as a hello", n, len(b))
			}
		}
	}
}

// TestHelloCheck checks that Check names each field that differs and, if both hellos have sections, the sections in which
// two fleet files differ.
func TestHelloCheck(t *testing.T) {
	const fleet = "wire: hello: fleet file hash: found ff070e151c232a31..., wanted 00070e151c232a31..."
	other := func(h *Hello) { h.Fleet[0] = 0xff }
	for _, c := range []struct {
		change func(h, want *Hello)
		want   string
	}{
		{func(h, want *Hello) {}, ""},
		{func(h, want *Hello) { h.Run = "ward-8" }, `wire: hello: run: found "ward-8", wanted "ward-7"`},
		{func(h, want *Hello) { h.From = "x" }, `wire: hello: from: found "x", wanted "gateway-a"`},
		{func(h, want *Hello) { h.To = "gateway-a" }, `wire: hello: to: found "gateway-a", wanted "gateway-b"`},
		{func(h, want *Hello) { h.Codec = 2 }, "wire: hello: codec: found 2, wanted 1"},
		{func(h, want *Hello) { h.Run, h.Codec = "z", 9 },
			"wire: hello: run: found \"z\", wanted \"ward-7\"\nwire: hello: codec: found 9, wanted 1"},
		{func(h, want *Hello) { other(h); h.Sections[1].Sum[0]++ }, fleet + ": method differs"},
		{func(h, want *Hello) { other(h); h.Sections[0].Sum[3]++; h.Sections[2].Sum[2]++ }, fleet + ": graph differs, privacy differs"},
		{func(h, want *Hello) { other(h); h.Sections[3].Sum[1]++ }, fleet + ": section 4 differs"},
		{func(h, want *Hello) { other(h) }, fleet + ": no section differs"},
		{func(h, want *Hello) { other(h); h.Sections = h.Sections[:2] }, fleet + ": privacy differs, section 4 differs"},
		{func(h, want *Hello) { other(h); want.Sections = want.Sections[:3] }, fleet + ": section 4 differs"},
		{func(h, want *Hello) { // neither has the section of a task
			other(h)
			want.Sections = append(want.Sections, Section{Name: "task"})
			h.Sections[0].Sum[0]++
		}, fleet + ": graph differs"},
		{func(h, want *Hello) { // one has it
			other(h)
			want.Sections = append(want.Sections, Section{Name: "task"})
			h.Sections = append(h.Sections, Section{Sum: [4]byte{1}})
		}, fleet + ": task differs"},
		{func(h, want *Hello) { other(h); h.Sections = nil }, fleet},
		{func(h, want *Hello) { other(h); want.Sections = nil }, fleet},
		{func(h, want *Hello) { h.Sections[1].Sum[0]++ }, ""}, // the same fleet file
	} {
		h, want := sampleSections(), sampleSections()
		c.change(&h, &want)
		b := mustHello(h)
		h, err := DecodeHello(b)
		if err != nil {
			t.Fatal(err)
		}
		if err := h.Check(want); err == nil && c.want != "" || err != nil && err.Error() != c.want {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

func TestEncodeHelloRefuses(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Hello)
		want   string
	}{
		{"long run", func(h *Hello) { h.Run = strings.Repeat("x", 65) }, "run: found 65 bytes, wanted 1..64"},
		{"broken from", func(h *Hello) { h.From = "a\xff" }, `from: found "a\xff", wanted valid UTF-8`},
		{"no codec", func(h *Hello) { h.Codec = 0 }, "codec: found version 0, wanted 1 or more"},
		{"17 sections", func(h *Hello) { h.Sections = make([]Section, 17) }, "sections: found 17, wanted at most 16"},
		{"two at once", func(h *Hello) { h.Run, h.To = "", "" }, "to: found 0 bytes"},
	} {
		h := sampleHello()
		c.change(&h)
		b, err := EncodeHello(h)
		if b != nil {
			t.Errorf("%s: got %x", c.name, b)
		}
		checkError(t, c.name, err, c.want)
	}
}

// malformedHellos has a hello for each error of its own, with the expected message. Those of CBOR are in malformedFrames.
var malformedHellos = []struct {
	name  string
	hello []byte
	want  string
}{
	{"nothing", nil, "EOF"},
	{"frame", pairs(1, 1, 2, 1, 3, 0), "cbor: cannot unmarshal positive integer into Go struct field wire.hello.2 of type string"},
	{"too long", make([]byte, 385), "found 385 bytes, wanted at most 384"},
	{"sections empty", withSections([]byte{}), "wanted deterministic CBOR"},
	{"sections cut", withSections(make([]byte, 7)), "sections: found 7 bytes, wanted a multiple of 4"},
	{"17 sections", withSections(make([]byte, 68)), "sections: found 17, wanted at most 16"},
	{"codec 0", pairs(1, 0, 2, "r", 3, make([]byte, 32), 4, "a", 5, "b"),
		"codec: found version 0, wanted 1 or more"},
	{"run empty", pairs(1, 1, 2, "", 3, make([]byte, 32), 4, "a", 5, "b"), "run: found 0 bytes"},
	{"run long", pairs(1, 1, 2, strings.Repeat("x", 65), 3, make([]byte, 32), 4, "a", 5, "b"),
		"run: found 65 bytes, wanted 1..64"},
	{"fleet short", pairs(1, 1, 2, "r", 3, make([]byte, 31), 4, "a", 5, "b"), "wanted deterministic CBOR"},
}

// withSections returns a hello with an arbitrary value in place of its sections.
func withSections(v any) []byte {
	return pairs(1, 1, 2, "r", 3, make([]byte, 32), 4, "a", 5, "b", 6, v)
}

func TestDecodeHelloRefuses(t *testing.T) {
	for _, m := range malformedHellos {
		_, err := DecodeHello(m.hello)
		checkError(t, m.name, err, m.want)
	}
}

// FuzzDecodeHello checks that DecodeHello does not panic, and that an accepted hello survives another round trip
// unchanged.
func FuzzDecodeHello(f *testing.F) {
	for _, m := range malformedHellos {
		f.Add(m.hello)
	}
	f.Add(mustHello(leastHello))
	f.Add(withSections(make([]byte, 16)))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := DecodeHello(b)
		if err != nil {
			return
		}
		again, err := EncodeHello(h)
		if err != nil || len(again) != len(b) {
			t.Fatalf("%x came back as %x, %v", b, again, err)
		}
		if got, err := DecodeHello(again); err != nil || !sameHello(got, h) {
			t.Fatalf("second trip: %+v, %v, want %+v", got, err, h)
		}
	})
}

// leastHello is a hello without sections.
var leastHello = Hello{Run: "r", From: "a", To: "b", Codec: frameVersion}

func mustHello(h Hello) []byte {
	b, err := EncodeHello(h)
	if err != nil {
		panic(err)
	}
	return b
}
