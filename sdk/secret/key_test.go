package secret

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/transport"
)

// TestKeys checks that ReadKey accepts key files that CreateKey or other programs wrote, and refuses invalid files.
func TestKeys(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "node.key")
	public := must(CreateKey(path))(t)
	if private, err := ReadKey(path); err != nil || !private.Public().(ed25519.PublicKey).Equal(public) {
		t.Errorf("read a key of %v, %v, want that of %v", private, err, public)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 && runtime.GOOS != "windows" {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	before := must(os.ReadFile(path))(t)
	if _, err := CreateKey(path); err == nil {
		t.Error("a key was replaced")
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, before) {
		t.Errorf("the key file has changed: %v", err)
	}

	encode := func(der []byte) string { return string(pem.EncodeToMemory(&pem.Block{Type: pemType, Bytes: der})) }
	// The first example of RFC 8410, section 10.3, which has the form that openssl genpkey writes.
	der := must(base64.StdEncoding.DecodeString("MC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC"))(t)
	published := encode(der)
	// The second example of RFC 8410, section 10.3, with attributes and the public key after the secret key.
	long := must(base64.StdEncoding.DecodeString(
		"MHICAQEwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhCoB8w" +
			"HQYKKoZIhvcNAQkJFDEPDA1DdXJkbGUgQ2hhaXJzgSEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE="))(t)
	curve := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	other := must(x509.MarshalPKCS8PrivateKey(curve))(t)
	write := func(text string, mode os.FileMode) string {
		t.Helper()
		p := filepath.Join(t.TempDir(), "a.key")
		if err := errors.Join(os.WriteFile(p, []byte(text), mode), os.Chmod(p, mode)); err != nil {
			t.Fatal(err)
		}
		return p
	}
	for _, text := range []string{published, encode(long)} {
		key := must(ReadKey(write(text, 0o400)))(t)
		if got := transport.FormatKey(
			key.Public().(ed25519.PublicKey)); got != "ed25519:Gb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE" {
			t.Errorf("public key %s", got)
		}
	}
	// CreateKey writes the same bytes as package crypto/x509, so other programs can read the file.
	ours := must(ReadKey(path))(t)
	if der, err := x509.MarshalPKCS8PrivateKey(ours); err != nil || string(before) != encode(der) {
		t.Errorf("the key file is\n%s\nwant\n%s", before, encode(der))
	}
	for _, c := range []struct {
		text string
		mode os.FileMode
		want string
	}{
		{published, 0o640, "mode 0640, want 0600"},
		{published, 0o604, "chmod 600"},
		{"", 0o600, "is empty, because its making was interrupted: remove it"},
		{published + published, 0o600, "exactly one PEM block"},
		{strings.ReplaceAll(published, "PRIVATE", "PUBLIC"), 0o600, `exactly one PEM block "PRIVATE KEY"`},
		{strings.Replace(published, "MC4C", "MC4D", 1), 0o600, "does not hold an Ed25519 key"},
		{strings.Replace(published, "MC4C", "MC8C", 1), 0o600, "does not hold an Ed25519 key"}, // wrong length
		{encode(der[:20]), 0o600, "does not hold an Ed25519 key"},
		// a byte of the secret is missing
		{encode([]byte("\x30\x2d" + string(der[2:47]))), 0o600, "does not hold an Ed25519 key"},
		{encode(nil), 0o600, "does not hold an Ed25519 key"},
		{encode(other), 0o600, "does not hold an Ed25519 key"},
		{strings.Repeat("x", maxKeyFile+1), 0o600, "want at most"},
	} {
		if strings.Contains(c.want, "mode") && runtime.GOOS == "windows" {
			continue
		}
		if _, err := ReadKey(write(c.text, c.mode)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want one with %q", err, c.want)
		}
	}
	if _, err := ReadKey(filepath.Join(dir, "none")); err == nil {
		t.Error("no file was a key")
	}
}

// must returns a function that returns v, and ends the test if err is not nil.
func must[T any](v T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
