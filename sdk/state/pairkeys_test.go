package state

import (
	"bytes"
	"crypto/ecdh"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk/pair"
)

func newPairKeys(t *testing.T, n int) (PairKeys, []pair.Public) {
	t.Helper()
	file := PairKeys(filepath.Join(t.TempDir(), "keys", "pairs.key"))
	public, err := file.Add("a", n)
	if err != nil || len(public) != n {
		t.Fatal(public, err)
	}
	return file, public
}

func (k PairKeys) private(t *testing.T, public pair.Public) []byte {
	t.Helper()
	lines, err := k.read()
	must(t, err)
	return lines[find(lines, public)].Private
}

// TestPairKeysBehindLink checks that a private half is deleted from the file to which a link leads, and not only behind
// the link.
func TestPairKeysBehindLink(t *testing.T) {
	file, public := newPairKeys(t, 1)
	link := PairKeys(filepath.Join(t.TempDir(), "pairs.key"))
	if err := os.Symlink(string(file), string(link)); err != nil {
		t.Logf("no links here: %v", err)
		return
	}
	must(t, link.Delete(public[0], [32]byte{1}))
	for _, name := range []PairKeys{file, link} {
		if name.private(t, public[0]) != nil {
			t.Errorf("%s still has the private half", name)
		}
	}
}

// TestPairKeysServeOneRun follows a key from its making over its run to the end: another run never gets it, and the
// private half is gone from the disk once it is deleted, while the record stays.
func TestPairKeysServeOneRun(t *testing.T) {
	file, public := newPairKeys(t, 3)
	other, err := file.Add("b", 1)
	must(t, err)
	if info, err := os.Stat(string(file)); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	one, two := [32]byte{1}, [32]byte{2}
	private := file.private(t, public[0])
	for step, do := range []func() error{
		func() error { return nil },
		func() error { return file.Bind(public[0], one) },
		func() error { return file.Bind(public[0], one) },
		func() error { return file.Delete(public[0], one) },
		func() error { return file.Delete(public[0], one) },
		func() error { return file.Bind(public[0], one) },
	} {
		if err := do(); err != nil {
			t.Fatal(step, err)
		}
		key, err := file.Find(public[0], one)
		if gone := step > 2; err != nil || (key == nil) != gone || key != nil && pair.PublicOf(key) != public[0] {
			t.Errorf("step %d: %v, %v", step, key, err)
		}
		if step > 0 {
			_, err := file.Find(public[0], two)
			for _, err := range []error{err, file.Bind(public[0], two), file.Delete(public[0], two)} {
				if !errors.Is(err, pair.ErrUsed) || !strings.Contains(err.Error(), string(file)) {
					t.Errorf("step %d, another run: %v", step, err)
				}
			}
		}
		text, err := os.ReadFile(string(file))
		line := pairLine{Private: private}
		encoded, _ := encodeLines([]pairLine{line})
		secret := bytes.Split(encoded, []byte(`"private":"`))[1][:40]
		if err != nil || bytes.Contains(text, secret) != (step <= 2) {
			t.Errorf("step %d: the private half is on the disk: %v, %v", step, bytes.Contains(text, secret), err)
		}
	}
	if left, err := file.Unused("a"); err != nil || !slices.Equal(left, public[1:]) {
		t.Errorf("%v are left, %v, want %v", left, err, public[1:])
	}
	if left, err := file.Unused("b"); err != nil || !slices.Equal(left, other) {
		t.Errorf("%v are left for b, %v", left, err)
	}
	_, err = file.Find(pair.Public{9}, one)
	if !errors.Is(err, pair.ErrMissing) || !errors.Is(file.Delete(pair.Public{9}, one), pair.ErrMissing) {
		t.Errorf("unknown: %v", err)
	}
	none := PairKeys(filepath.Join(t.TempDir(), "none"))
	if left, err := none.Unused("a"); left != nil || err != nil {
		t.Errorf("no file: %v, %v", left, err)
	}
	if left, err := filepath.Glob(string(none) + "*"); left != nil || err != nil {
		t.Errorf("%q were made", left)
	}
	if err := none.Delete(public[0], one); !errors.Is(err, pair.ErrMissing) {
		t.Errorf("no file: %v", err)
	}
}

// TestDamagedPairKeys checks that a changed file, a file that others can read, and a key that is in the file twice (once
// used and once not, as after two copies were joined) are refused, and that no message shows a private half.
func TestDamagedPairKeys(t *testing.T) {
	file, public := newPairKeys(t, 2)
	before := mustRead(t, string(file))
	must(t, file.Bind(public[0], [32]byte{1}))
	whole := mustRead(t, string(file))
	lines := bytes.SplitAfter(whole, []byte("\n"))
	secret := bytes.Split(before, []byte(`"private":"`))[1][:40]
	for name, text := range map[string][]byte{
		"cut":             whole[:len(whole)-5],
		"twice":           slices.Concat(whole, before),
		"swapped halves":  bytes.Replace(whole, []byte(public[0].String()), []byte(mustKey(t).String()), 1),
		"low order":       bytes.Replace(whole, []byte(public[0].String()), []byte(pair.Public{1}.String()), 1),
		"unknown field":   bytes.Replace(whole, []byte(`"member":"a"`), []byte(`"member":"a","x":1`), 1),
		"short fleet":     bytes.Replace(whole, []byte(`"fleet":"01`), []byte(`"fleet":"`), 1),
		"neither":         slices.Concat([]byte(`{"member":"a","public":"`+public[0].String()+`"}`+"\n"), lines[1]),
		"private too big": bytes.Replace(whole, secret, append(bytes.Clone(secret), 'A', 'A', 'A', 'A'), 1),
	} {
		mustWrite(t, string(file), text)
		_, err := file.Find(public[1], [32]byte{1})
		if err == nil || !strings.Contains(err.Error(), string(file)) || bytes.Contains([]byte(err.Error()), secret[:20]) {
			t.Errorf("%s: %v", name, err)
		}
		if err := file.Bind(public[1], [32]byte{1}); err == nil {
			t.Errorf("%s: written over", name)
		}
	}
	mustWrite(t, string(file), whole)
	if runtime.GOOS == "windows" {
		return
	}
	must(t, os.Chmod(string(file), 0o640))
	if _, err := file.Find(public[1], [32]byte{1}); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("others can read it: %v", err)
	}
}

func mustKey(t *testing.T) pair.Public {
	t.Helper()
	key, err := ecdh.X25519().NewPrivateKey(bytes.Repeat([]byte{7}, 32))
	must(t, err)
	return pair.PublicOf(key)
}

// TestPairKeysOfManyProcesses checks that changes at the same time, such as by keygen and by a node that deletes a key,
// lose nothing.
func TestPairKeysOfManyProcesses(t *testing.T) {
	t.Parallel() // waits for the disk
	file, public := newPairKeys(t, 8)
	var wg sync.WaitGroup
	for i, p := range public {
		wg.Go(func() {
			if err := file.Delete(p, [32]byte{1}); err != nil {
				t.Error(err)
			}
		})
		wg.Go(func() {
			if _, err := file.Add("a", 1+i%2); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	left, err := file.Unused("a")
	if err != nil || len(left) != 12 {
		t.Errorf("%d keys are left, want 12: %v", len(left), err)
	}
	for _, p := range public {
		if key, err := file.Find(p, [32]byte{1}); key != nil || err != nil {
			t.Errorf("a deleted key is back: %v", err)
		}
	}
}
