package wire

import (
	"bytes"
	"encoding/hex"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk/admm"
)

var update = flag.Bool("update", false, "write testdata/v1-*.hex from what the code gives now")

// golden compares b with testdata/v1-NAME.hex and returns the file's bytes. With -update it first writes b to the file.
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

// TestGoldenFrames checks that frames have the bytes in testdata on every processor and with every version of the
// compressor, because different builds exchange frames.
func TestGoldenFrames(t *testing.T) {
	for _, c := range []struct {
		name string
		dim  int
		f    admm.Message
	}{
		{"resent", len(specials), admm.Message{Kind: admm.Release, Round: 70_000, Resent: true, Vector: specials}},
		{"normals", 300, admm.Message{Kind: admm.Release, Round: 7, Vector: normals(300, 1)}},
		{"zeros", 10, admm.Message{Kind: admm.Release, Round: 0, Vector: make([]float32, 10)}},
		{"blocks", blockSize + 700, admm.Message{Kind: admm.Release, Round: 1, Vector: repeated(-1.5, blockSize+700)}},
		{"done", 10, admm.Message{Kind: admm.Done, Round: 60}},
		{"done-resent", 10, admm.Message{Kind: admm.Done, Round: 60, Resent: true}},
		{"release", len(specials), admm.Message{Kind: admm.Release, Round: 42, Vector: specials}},
		{"release-grid", len(extremes), admm.Message{Kind: admm.Release, Round: 42, Grid: extremes}},
		{"release-rice", 40, admm.Message{Kind: admm.Release, Round: 43, Grid: gridNormals(40, 16, 1)}},
		{"release-escaped", 40, admm.Message{Kind: admm.Release, Round: 43, Grid: withOutliers(40)}},
		{"release-large", 2000, admm.Message{Kind: admm.Release, Round: 44, Resent: true, Grid: gridNormals(2000, 40, 1)}},
		{"release-outliers", 2000, admm.Message{Kind: admm.Release, Round: 45, Grid: withOutliers(2000)}},
		{"release-small", 2001, admm.Message{Kind: admm.Release, Round: 46, Grid: gridNormals(2001, 1, 1)}},
		{"release-still", blockSize + 40, admm.Message{Kind: admm.Release, Round: 47, Grid: make([]int32, blockSize+40)}},
		{"hail", 10, admm.Message{Kind: admm.Probe, Round: 17, Held: 16, Incarnation: 0xba9876543210}},
		{"hail-resent", 10, admm.Message{Kind: admm.ProbeReply, Round: 0, Held: 300, Incarnation: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			codec := newCodec(t, c.dim)
			frame := mustAppend(t, codec, &c.f)
			var got admm.Message
			if err := codec.Decode(golden(t, c.name, frame), &got); err != nil || !sameFrame(&got, &c.f) {
				t.Errorf("decoded as %+v, %v", got, err)
			}
		})
	}
}

func TestGoldenHello(t *testing.T) {
	for name, hello := range map[string]Hello{"hello": sampleHello(), "hello-sections": sampleSections()} {
		if h, err := DecodeHello(golden(t, name, mustHello(hello))); err != nil || !sameHello(h, hello) {
			t.Errorf("%s: decoded as %+v, %v", name, h, err)
		}
	}
}

func TestGoldenSnapshot(t *testing.T) {
	for name, c := range map[string]*Snapshot{"checkpoint": sampleSnapshot(), "checkpoint-least": leastSnapshot()} {
		b := mustSnapshot(t, c)
		var got Snapshot
		if err := DecodeSnapshot(golden(t, name, b), &got); err != nil || !bytes.Equal(mustSnapshot(t, &got), b) {
			t.Errorf("%s: decoded as %+v, %v", name, got, err)
		}
	}
}
