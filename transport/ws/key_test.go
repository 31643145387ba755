package ws

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/transport"
)

func TestKeyText(t *testing.T) {
	// The public key of RFC 8032, section 7.1, test 1.
	b, err := hex.DecodeString("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")
	if err != nil {
		t.Fatal(err)
	}
	const want = "ed25519:11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo"
	if got := transport.FormatKey(b); got != want {
		t.Errorf("FormatKey = %s, want %s", got, want)
	}
	if k, err := transport.ParseKey(want); err != nil || !bytes.Equal(k, b) {
		t.Errorf("ParseKey = %x, %v, want %x", k, err, b)
	}
}

func TestParseKeyErrors(t *testing.T) {
	good := transport.FormatKey(publicOf("a"))
	for _, c := range []struct{ text, want string }{
		{"", `does not begin with "ed25519:"`},
		{strings.TrimPrefix(good, "ed25519:"), `does not begin with "ed25519:"`},
		{good + "=", "has 44 characters"},
		{good[:len(good)-1], "has 42 characters"},
		{good[:len(good)-1] + "\n", "31 bytes"},      // the decoder skips line breaks,
		{good[:len(good)-1] + "/", "illegal base64"}, // bits beyond the last byte
		{"ed25519:" + strings.Repeat("A", 43), "small order"},
	} {
		if _, err := transport.ParseKey(c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("transport.ParseKey(%q): error %v, want %q", c.text, err, c.want)
		}
	}
}

func FuzzParseKey(f *testing.F) {
	f.Add(transport.FormatKey(publicOf("a")))
	f.Add("ed25519:" + strings.Repeat("A", 43))
	f.Add("ed25519:\n")
	f.Fuzz(func(t *testing.T, text string) {
		k, err := transport.ParseKey(text)
		if err != nil {
			return
		}
		if got := transport.FormatKey(k); got != text {
			t.Errorf("transport.ParseKey(%q) succeeds, but the key's text is %q", text, got)
		}
	})
}

func FuzzParseHeader(f *testing.F) {
	f.Add([]byte{'f', 0, 0, 0, 5}, 16)
	f.Add([]byte{'h', 0, 1, 0, 1}, 16)
	f.Add([]byte{'c', 255, 255, 255, 255}, 16)
	f.Fuzz(func(t *testing.T, b []byte, maxFrame int) {
		if len(b) != headerLen || maxFrame < 0 || maxFrame > largestMaxFrame {
			return
		}
		k, n, err := parseHeader([headerLen]byte(b), maxFrame)
		if err != nil {
			return
		}
		limit := map[kind]int{kindHello: maxHello, kindFrame: maxFrame, kindCredit: largestMaxFrame}[k]
		if n < 0 || n > limit {
			t.Errorf("kind %q with number %d, more than %d", k, n, limit)
		}
		if h := putHeader(k, n); !bytes.Equal(h[:], b) {
			t.Errorf("header %x is written as %x", b, h)
		}
	})
}

func FuzzParseAddress(f *testing.F) {
	f.Add("wss://host:1/path")
	f.Add("wss://[::1]:443")
	f.Add("ws://host")
	f.Fuzz(func(t *testing.T, text string) {
		a, err := parseAddress(text)
		if err == nil && (!strings.HasPrefix(strings.ToLower(text), "wss:") || a.host == "" || a.hostPort == "") {
			t.Errorf("%q is taken for %+v", text, a)
		}
	})
}
