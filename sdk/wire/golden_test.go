package wire

import (
	"bytes"
	"encoding/hex"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write testdata/v1-*.hex from what the code gives now")

// golden compares b with testdata/v1-NAME.hex, after writing that file if -update was given, and returns the file's
// bytes.
func golden(t *testing.T, name string, b []byte) []byte {
	t.Helper()
	file := filepath.Join("testdata", "v1-"+name+".hex")
	if *update {
		var text strings.Builder
		for rest := b; len(rest) > 0; rest = rest[min(32, len(rest)):] {
			text.WriteString(hex.EncodeToString(rest[:min(32, len(rest))]) + "\n")
		}
		if err := os.WriteFile(file, []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want, err := hex.DecodeString(strings.Join(strings.Fields(string(text)), ""))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b, want) {
		t.Errorf("%s: encoded as\n%x, want\n%x", name, b, want)
	}
	return want
}

// Frames of version 1 are these bytes for ever, on every processor and with every release of the compressor: nodes
// of different builds talk to each other.
func TestGoldenFrames(t *testing.T) {
	for _, c := range []struct {
		name   string
		dim    int
		f      Frame
		planes bool
	}{
		{"message", len(specials), Frame{Kind: Message, Round: 42, Vector: specials}, false},
		{"resent", len(specials), Frame{Kind: Message, Round: 70_000, Resent: true, Vector: specials}, false},
		{"normals", 300, Frame{Kind: Message, Round: 7, Vector: normals(300, 1)}, true},
		{"zeros", 10, Frame{Kind: Message, Round: 0, Vector: make([]float32, 10)}, true},
		{"blocks", blockSize + 700, Frame{Kind: Message, Round: 1, Vector: repeated(-1.5, blockSize+700)}, true},
		{"done", 10, Frame{Kind: Done, Round: 60}, false},
		{"done-resent", 10, Frame{Kind: Done, Round: 60, Resent: true}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			codec := newCodec(t, c.dim)
			frame := mustAppend(t, codec, &c.f)
			if c.f.Kind == Message && usesPlanes(t, frame) != c.planes {
				t.Errorf("planes: %v, want %v", !c.planes, c.planes)
			}
			var got Frame
			if err := codec.Decode(golden(t, c.name, frame), &got); err != nil || !sameFrame(&got, &c.f) {
				t.Errorf("decoded as %+v, %v", got, err)
			}
		})
	}
}

func TestGoldenHello(t *testing.T) {
	b, err := EncodeHello(sampleHello())
	if err != nil {
		t.Fatal(err)
	}
	if h, err := DecodeHello(golden(t, "hello", b)); err != nil || h != sampleHello() {
		t.Errorf("decoded as %+v, %v", h, err)
	}
}
