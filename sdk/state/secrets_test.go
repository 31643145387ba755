package state

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk/pair"
	"github.com/spade-dfl/spade-edge/sdk/signed"
)

// TestSecretsAreKeptAndRemoved checks that only the owner can read stored secrets, and that they survive a restart. A
// damaged file is rejected, even by Inspect, with an error that states the remedy but not the content. After the run is
// over, nothing remains of the secrets, not even a file from an interrupted write.
func TestSecretsAreKeptAndRemoved(t *testing.T) {
	dir := t.TempDir()
	d, err := sized(Open(dir))(100)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	path := filepath.Join(dir, SecretsName)
	if k, err := readSecrets(dir); k != nil || err != nil {
		t.Fatal(k, err)
	}
	if err := d.Keep(SecretsName, nil); err != nil {
		t.Errorf("removing nothing: %v", err)
	}
	private, err := pair.NewPrivate()
	if err != nil {
		t.Fatal(err)
	}
	k := &pair.Kept{Member: "a", Own: signed.Statement{Kind: signed.Offer, Round: 1}, Private: private}
	for range 2 {
		k.Add("b", signed.Statement{Kind: signed.Offer, Round: len(k.Peers) + 1, Value: [32]byte{1}})
		text, err := k.Encode()
		if err == nil {
			err = d.Keep(SecretsName, text)
		}
		if err != nil {
			t.Fatal(err)
		}
		got, err := readSecrets(dir)
		if err != nil || !got.Private.Equal(private) || len(got.Peers["b"]) != len(k.Peers["b"]) {
			t.Fatalf("%v, %v", got, err)
		}
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if r, err := Inspect(dir); err != nil || r.Refused != nil {
		t.Errorf("%+v, %v", r, err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, damaged := range [][]byte{nil, text[:len(text)/2], bytes.Replace(text, []byte(`"member":"a"`), []byte(`"member":"b"`), 1)} {
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := readSecrets(dir)
		if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "take the place of a lost one") ||
			strings.Contains(err.Error(), string(text[200:220])) {
			t.Errorf("%s: %v", damaged, err)
		}
		if r, err := Inspect(dir); err != nil || r.Refused == nil {
			t.Errorf("%s: %+v, %v", damaged, r, err)
		}
	}
	if err := os.WriteFile(path+".tmp", text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := d.Keep(SecretsName, nil); err != nil {
		t.Fatal(err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "secrets*")); err != nil || len(left) > 0 {
		t.Errorf("%q are left, %v", left, err)
	}
	if r, err := Inspect(dir); err != nil || r.Refused != nil {
		t.Errorf("%+v, %v", r, err)
	}
	if err := d.Keep("slot-0", nil); err == nil {
		t.Error("a store keeps whatever it is told to, in place of a state")
	}
}
