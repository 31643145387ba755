package fleetfile

import (
	"bytes"
	"crypto/ecdh"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/pair"
	"github.com/spade-dfl/spade-edge/transport"
	"github.com/spade-dfl/spade-edge/zoest"
)

var update = flag.Bool("update", false, "write the golden files afresh: read the difference before it is committed")

func keyOf(name string) ed25519.PrivateKey {
	seed := sha256.Sum256([]byte(name))
	return ed25519.NewKeyFromSeed(seed[:])
}

func pinOf(name string) ed25519.PublicKey { return keyOf(name).Public().(ed25519.PublicKey) }

// sample returns a private fleet of three members in which no field has its default. Member "b" has two keys, because
// it is about to change its key.
func sample() *File {
	return &File{
		Fleet: &sdk.Fleet{
			Run: "ward-study <2>", Dim: 3, X0: []float32{0, -1.5, 2},
			Members: []string{"a", "b", "c"}, Edges: [][2]string{{"b", "a"}, {"b", "c"}},
			Method: sdk.Method{
				Rounds: 4, Cooldown: 2, Tau: 2, Batch: 8, Rho: 1.5, Gain: 0.75,
				Eta: []float64{0.4, 0.3, 0.2, 0.1}, Mu: []float64{0.5},
				Estimator: zoest.Tracking, Directions: zoest.Walsh, Seed: math.MaxUint64,
			},
			Privacy: sdk.Privacy{Clip: 0.1, Sigma: 0.9, Delta: 1e-5, EpsilonLimit: 8, Accounting: dpmech.ZCDP},
			Wire:    sdk.Wire{GridBits: 5},
		},
		Members: []Member{
			{Name: "a", Keys: []ed25519.PublicKey{pinOf("a")}},
			{Name: "b", Keys: []ed25519.PublicKey{pinOf("b"), pinOf("b to come")},
				Addresses: []string{"wss://b.example:7443/spade", "wss://[::1]:7443"}},
			{Name: "c", Keys: []ed25519.PublicKey{pinOf("c")}, Addresses: []string{"wss://c.example/"}},
		},
		X0File: "start/x0.bin",
	}
}

// sharing returns the same fleet as sample, but on a triangle, with pairwise noise and mixing rounds. An adversary who
// knows the secrets of one member knows the noise of two of the three edges. The effective sigma is then
// 0.75*sqrt(1+4/5), about 1.006, and the fleet file states an effective sigma of 1.
func sharing() *File {
	f := sample()
	f.Fleet.Edges = append(f.Fleet.Edges, [2]string{"a", "c"})
	f.Fleet.Method.Mixing = 3
	withPairKeys(f)
	f.Members[1].PairKeys = []pair.Public{pairKeyOf("b's next"), pairKeyOf("b's last")}
	f.Fleet.Privacy = sdk.Privacy{
		Clip: 0.1, Sigma: 0.75, Delta: 1e-5, EpsilonLimit: 8, PairSigma: 1.5, EffectiveSigma: 1, Colluders: 1, LimitAll: 40,
	}
	return f
}

func pairKeyOf(name string) pair.Public {
	seed := sha256.Sum256([]byte(name))
	key, err := ecdh.X25519().NewPrivateKey(seed[:])
	if err != nil {
		panic(err)
	}
	return pair.PublicOf(key)
}

// withPairKeys gives each member a one-time key.
func withPairKeys(f *File) {
	for _, m := range f.Members {
		f.Fleet.PairKeys = append(f.Fleet.PairKeys, pairKeyOf(m.Name))
	}
}

func plain() *File {
	return &File{
		Fleet: &sdk.Fleet{
			Run: "solo", Dim: 1, Members: []string{"me"},
			Method:  sdk.Method{Rounds: 1, Tau: 1, Rho: 1, Gain: 0.5, Eta: []float64{1}, Mu: []float64{1}},
			Privacy: sdk.Privacy{NonPrivate: true},
		},
		Members: []Member{{Name: "me", Keys: []ed25519.PublicKey{pinOf("me")}}},
	}
}

func load(string, int64) ([]byte, error) { return sample().start(), nil }

// TestGoldenFleet checks that the text and the hash of a fleet do not change from version to version, because nodes of
// different versions must agree on them, and that reading the text yields an equal file.
func TestGoldenFleet(t *testing.T) {
	dir := filepath.Join("testdata", "golden")
	for _, c := range []struct {
		name, hash string
		file       *File
	}{
		{"fleet.json", "b4e3912216e540a0771086328d9d1547951c969ccda1ec75d907b36af49f57cb", sample()},
		{"sharing.json", "2252cb4b8d50abcedaefca9362e7f7ac7a61a47af9dd4e979a497121b5b978a6", sharing()},
		{"plain.json", "b25311b36c636b444a0e9fe85ed3ded298c253798beb61155b9472dce7fe25c9", plain()},
	} {
		got := must(c.file.Marshal())(t)
		path := filepath.Join(dir, c.name)
		if *update {
			if err := os.WriteFile(path, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("text is\n%s\nwant\n%s\n%v", got, want, err)
		}
		f, err := Read(path)
		if err != nil || !same(f, c.file) {
			t.Fatalf("read %+v, %v, want %+v", f, err, c.file)
		}
		if h := f.Fleet.Hash(); hex.EncodeToString(h[:]) != c.hash {
			t.Errorf("%s: hash %x, want %s", c.name, h, c.hash)
		}
	}
}

func TestMarshalRefuses(t *testing.T) {
	for want, change := range map[string]func(f *File){
		"Fleet is nil":                               func(f *File) { f.Fleet = nil },
		"Members differs from Fleet.Members":         func(f *File) { f.Members = f.Members[:2] },
		`want the names ["a" "b" "c"] in this order`: func(f *File) { f.Members[0].Name = "z" },
		"X0File is empty":                            func(f *File) { f.X0File = "" },
		"method.gain is NaN, want":                   func(f *File) { f.Fleet.Method.Gain = math.NaN() },
		"method.tau is 0, want":                      func(f *File) { f.Fleet.Method.Tau = 0 },
		"members[2].keys has 0 keys":                 func(f *File) { f.Members[2].Keys = nil },
		"members[1].addresses and members[0].":       func(f *File) { f.Members[1].Addresses = nil },
		`x0.file is "../x0", want a file`:            func(f *File) { f.X0File = "../x0" },
		"method.eta is a list of 0 values":           func(f *File) { f.Fleet.Method.Eta = nil },
		`estimator is "7", want`:                     func(f *File) { f.Fleet.Method.Estimator = 7 },
		"the settings are {NonPrivate":               func(f *File) { f.Fleet.Privacy.NonPrivate, f.Fleet.Wire = true, sdk.Wire{} },
	} {
		f := sample()
		change(f)
		if _, err := f.Marshal(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

// TestWriteAndRead checks that Write fails if the fleet file or the file of the start vector exists, and that the
// errors for a missing start vector and for a start vector of the wrong size differ.
func TestWriteAndRead(t *testing.T) {
	dir := t.TempDir()
	f := sample()
	f.X0File = "x0.bin"
	path := filepath.Join(dir, "fleet.json")
	if err := f.Write(path); err != nil {
		t.Fatal(err)
	}
	if err := f.Write(path); err == nil {
		t.Error("a fleet file was replaced")
	}
	if back, err := Read(path); err != nil || !same(back, f) {
		t.Errorf("read %+v, %v", back, err)
	}
	text := must(os.ReadFile(path))(t)
	x0 := filepath.Join(dir, "x0.bin")
	if err := os.Remove(x0); err != nil {
		t.Fatal(err)
	}
	bare, again, err := ReadWithoutX0(path) // the hash of the start vector suffices for the hash of the fleet
	if err != nil || !bytes.Equal(again, text) || bare.Fleet.X0 != nil || bare.Fleet.Hash() != f.Fleet.Hash() {
		t.Errorf("without its start vector: %+v, %v", bare, err)
	} else if _, err := bare.Marshal(); err == nil {
		t.Error("a fleet without its start vector was written")
	}
	f.Fleet.X0 = make([]float32, f.Fleet.Dim)
	zero, err := f.Marshal()
	if err == nil {
		bare, err = parse(zero, "", nil)
	}
	if err != nil || bare.Fleet.Hash() != f.Fleet.Hash() {
		t.Errorf("zeros in a file: %v", err)
	}
	for want, change := range map[string]func() error{
		"x0.sha256 is ":                         func() error { return os.WriteFile(x0, make([]byte, 12), 0o600) },
		"x0.bin has 11 bytes, want 12":          func() error { return os.WriteFile(x0, make([]byte, 11), 0o600) },
		"is a file of 13 bytes, want at most ":  func() error { return os.WriteFile(x0, make([]byte, 13), 0o600) },
		"x0.file: want 3 numbers of four bytes": func() error { return nil },
		"is a folder":                           func() error { return os.Mkdir(x0, 0o700) },
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
		if _, err := Parse(text, dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
		if err := os.RemoveAll(x0); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Read(dir); err == nil || !strings.Contains(err.Error(), "is a folder") {
		t.Errorf("a folder as a fleet file: %v", err)
	}
	if _, err := Read(filepath.Join(dir, "none.json")); err == nil || !strings.Contains(err.Error(), "a fleet file") {
		t.Errorf("no fleet file: %v", err)
	}
	if err := os.Truncate(path, MaxFile+1); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path); err == nil || !strings.Contains(err.Error(),
		fmt.Sprintf("of %d bytes, want at most", MaxFile+1)) {
		t.Errorf("a huge file: %v", err)
	}
}

// TestHash checks that the hash does not depend on white space, the order of fields, the direction of an edge, or members'
// keys and addresses.
func TestHash(t *testing.T) {
	text := must(sample().Marshal())(t)
	pin := func(name string) string { return transport.FormatKey(pinOf(name)) }
	for name, change := range map[string]*strings.Replacer{
		"white space":                   strings.NewReplacer("\n", "", ": ", ":", ", ", ","),
		"another order":                 strings.NewReplacer(`"dim": 3,`, "", `"version": 1,`, `"version": 1, "dim": 3,`),
		"an edge turned":                strings.NewReplacer(`["b", "a"]`, `["a", "b"]`),
		"another key":                   strings.NewReplacer(pin("b"), pin("b again")),
		"a retired key":                 strings.NewReplacer(`"name": "a", `, `"name": "a", "retired": ["`+pin("a before")+`"], `),
		"another address":               strings.NewReplacer("wss://b.example:7443/spade", "wss://10.0.0.1:1/"),
		"no address":                    strings.NewReplacer(`, "addresses": ["wss://c.example/"]`, ""),
		"x0 renamed":                    strings.NewReplacer("start/x0.bin", "other.bin"),
		"another way to write a number": strings.NewReplacer(`"rho": 1.5`, `"rho": 15.0e-1`),
	} {
		changed := change.Replace(string(text))
		f, err := parse([]byte(changed), "", load)
		if err != nil || changed == string(text) {
			t.Fatalf("%s: %v\n%s", name, err, changed)
		}
		if f.Fleet.Hash() != sample().Fleet.Hash() {
			t.Errorf("%s: another hash", name)
		}
	}
}

// TestPeers checks who is a neighbor, and that a signature by a retired key is valid, but no connection with one.
func TestPeers(t *testing.T) {
	f := rotated()
	for self, want := range map[string]string{"a": "b", "b": "ac", "c": "b", "z": ""} {
		got := ""
		for _, p := range f.Peers(self) {
			got += p.Name
		}
		if got != want {
			t.Errorf("neighbors of %s: %s, want %s", self, got, want)
		}
	}
	if peer := f.Peers("a")[0]; !reflect.DeepEqual(peer.Keys, f.Members[1].Keys) {
		t.Errorf("b may connect with %v, want %v", peer.Keys, f.Members[1].Keys)
	}
	for member, want := range map[string][]ed25519.PublicKey{
		"b": {pinOf("b"), pinOf("b to come"), pinOf("b before"), pinOf("b lost")}, "c": {pinOf("c")}, "d": nil,
	} {
		got := f.SigningKeys(member)
		_ = append(got[:min(2, len(got))], nil, nil) // does not change the file
		if got = f.SigningKeys(member); !reflect.DeepEqual(got, want) {
			t.Errorf("%s signs with %v, want %v", member, got, want)
		}
	}
}

// TestIdentity checks that a node needs a key of its member, that a member without an address only dials, whatever its name,
// and that only members that a neighbor dials must listen.
func TestIdentity(t *testing.T) {
	pin := func(name string) string { return transport.FormatKey(pinOf(name)) }
	for _, test := range []struct {
		self, key    string
		bHas, cHas   bool
		listen       string
		fleet, found string
	}{
		{"b", "b", true, true, ":0", "", ""},
		{"b", "b to come", true, true, ":0", "", ""},
		{"a", "a before", true, true, "", "", "but the fleet file has " + pin("a")}, // retired
		{"b", "c", true, true, ":0", "", pin("b") + " or " + pin("b to come")},
		{"c", "b", true, true, ":0", "", pin("b") + ", but the fleet file has " + pin("c")},
		{"z", "a", true, true, "", "", `"z" is not a member of the fleet, whose members are ["a" "b" "c"]`},
		{"a", "", true, true, "", "", `the key of "a" has 0 bytes`},
		{"b", "b", true, false, ":0", "", ""}, // c has no address, so it dials b and nobody dials c
		{"c", "c", true, false, "", "", ""},
		{"a", "a", true, false, "", "", ""},
		{"b", "b", true, true, "", "", `listen is missing, want host:port: "a" has no address, so it dials "b"`},
		{"c", "c", true, true, "", "", `listen is missing, want host:port: "b" dials "c", because "c" has an address`},
		{"b", "b", false, true, ":0", `want an address for one of them: "a" and "b" are neighbors`, ""},
		{"c", "c", false, false, ":0", "", `"c" and "b" are neighbors, but neither has an address`},
		{"c", "c", false, false, "a broker", "", ""},
	} {
		f := rotated()
		if !test.bHas {
			f.Members[1].Addresses = nil
		}
		if !test.cHas {
			f.Members[2].Addresses = nil
		}
		says := func(err error, want string) bool {
			return err == nil && want == "" || err != nil && want != "" && strings.Contains(err.Error(), want)
		}
		if _, err := f.Marshal(); !says(err, test.fleet) {
			t.Errorf("%+v: fleet: %v", test, err)
		}
		if test.fleet != "" {
			continue
		}
		n := &Node{Name: test.self, Listen: test.listen}
		if test.listen == "a broker" {
			n.Transport, n.Listen = test.listen, ""
		}
		var key ed25519.PrivateKey
		if test.key != "" {
			key = keyOf(test.key)
		}
		if err := n.CheckIdentity(f, key); !says(err, test.found) {
			t.Errorf("%+v: node: %v", test, err)
		}
	}
}

// rotated returns the fleet of sample after keys of two members were replaced.
func rotated() *File {
	f := sample()
	f.Members[0].Retired = []ed25519.PublicKey{pinOf("a before")}
	f.Members[1].Retired = []ed25519.PublicKey{pinOf("b before"), pinOf("b lost")}
	return f
}

// same reports whether two files are equal, apart from what has been computed of their graphs.
func same(a, b *File) bool {
	one, other := *a, *b
	one.graph, other.graph = nil, nil
	return reflect.DeepEqual(one, other)
}

// must returns a result that a test needs.
func must[T any](v T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
