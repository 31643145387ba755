package fleetfile

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk/secret"
)

// FuzzSecrets checks that reading an arbitrary file of credentials, key file or JSON line of a member yields the content
// or an error. An error about credentials or a key must not contain the text of the file.
func FuzzSecrets(f *testing.F) {
	dir := f.TempDir()
	path := filepath.Join(dir, "secret")
	if _, err := secret.CreateKey(filepath.Join(dir, "key")); err != nil {
		f.Fatal(err)
	}
	key := must(os.ReadFile(filepath.Join(dir, "key")))(f)
	f.Add(key)
	for _, text := range []string{"me:secret", "me:", ":", "a:b\nc:d", "\xff:\x00", "-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----",
		`{"name":"a","keys":["age"]}`} {
		f.Add([]byte(text))
	}
	f.Add(must(sample().Members[0].MarshalJSON())(f))
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		hidden := strings.TrimSpace(string(text))
		u, err := (&Node{Proxy: "http://proxy:3128", ProxyCredentials: path}).OpenProxy()
		if err == nil {
			password, _ := u.User.Password()
			if got := u.User.Username() + ":" + password; got != hidden {
				t.Errorf("credentials %q are read as %q", hidden, got)
			}
		} else if len(hidden) > 40 && strings.Contains(err.Error(), hidden) {
			t.Errorf("error %v", err)
		}
		if private, err := secret.ReadKey(path); err == nil {
			der, err := x509.MarshalPKCS8PrivateKey(private)
			if err != nil || len(private) != ed25519.PrivateKeySize {
				t.Fatalf("a key of %d bytes: %v", len(private), err)
			}
			block, _ := pem.Decode(text)
			if block == nil || !bytes.Contains(block.Bytes, private.Seed()) || len(der) == 0 {
				t.Error("a key that does not stand in the file")
			}
		} else if len(hidden) > 40 && strings.Contains(err.Error(), hidden) {
			t.Errorf("error %v", err)
		}
		if m, err := ParseMember(text); err == nil {
			again := must(m.MarshalJSON())(t)
			if back, err := ParseMember(again); err != nil || !reflect.DeepEqual(back, m) {
				t.Errorf("%+v is read back as %+v, %v", m, back, err)
			}
		}
	})
}
