package fleetfile

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/transport"
)

// TestFaults checks that every error in a fleet file is reported once, with its location and the expected value:
// testdata/faults.txt and testdata/sharingfaults.txt list them.
func TestFaults(t *testing.T) {
	for name, file := range map[string]*File{"faults.txt": sample(), "sharingfaults.txt": sharing()} {
		marshaled := must(file.Marshal())(t)
		list := must(os.ReadFile(filepath.Join("testdata", name)))(t)
		text := string(marshaled)
		expand := func(name string) string {
			kind, of, _ := strings.Cut(name, " ")
			switch kind {
			case "key":
				return transport.FormatKey(pinOf(of))
			case "pair":
				return pairKeyOf(of).String()
			}
			next := map[string]string{"members": `"method"`, "method": `"privacy"`, "privacy": `"wire"`}[name]
			return text[strings.Index(text, `"`+name+`"`):strings.Index(text, next)]
		}
		_, entries, _ := strings.Cut(strings.ReplaceAll(string(list), "\r\n", "\n"), "\n\n")
		for entry := range strings.SplitSeq(strings.TrimSuffix(entries, "\n"), "\n\n") {
			var parts []string
			for line := range strings.SplitSeq(entry, "\n") {
				line = strings.TrimPrefix(line[1:], " ")
				parts = append(parts, os.Expand(strings.NewReplacer(`\n`, "\n", `\xff`, "\xff", `\ufeff`, "\ufeff").Replace(line), expand))
			}
			old, bad, want := parts[0], parts[1], parts[2:]
			if old != "all" {
				bad = strings.Replace(text, old, bad, 1)
			}
			_, err := parse([]byte(bad), "", func(_ string, size int64) ([]byte, error) {
				if size != 12 {
					return nil, fmt.Errorf("of another size")
				}
				return sample().start(), nil
			})
			if err == nil || bad == text {
				t.Errorf("%s was accepted, or changes nothing", entry)
				continue
			}
			lines := strings.Split(err.Error(), "\n")
			for i := range max(len(lines), len(want)) {
				if i >= min(len(lines), len(want)) || !strings.HasPrefix(lines[i], "fleetfile: ") || !strings.Contains(lines[i], want[i]) {
					t.Errorf("%s\nhas the errors\n%v", entry, err)
					break
				}
			}
		}
	}
}

// TestManyFaults checks that errors in all sections are reported at once, in the order of the file format, with the
// name of the file. If there are more than fifty errors, the first fifty must be reported and the rest only counted.
func TestManyFaults(t *testing.T) {
	text := must(sample().Marshal())(t)
	bad := strings.NewReplacer(`"dim": 3`, `"dim": -3`, `["b", "a"]`, `["b", "b"]`, `"tau": 2`, `"tau": 0`, `"clip": 0.1`,
		`"clip": 0`,
		`"grid_bits": 5`, `"grid_bits": 99`, `"name": "c"`, `"name": ""`).Replace(string(text))
	path := filepath.Join(t.TempDir(), "bad.json")
	if err := os.WriteFile(path, []byte(bad), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Read(path)
	if err == nil {
		t.Fatal("accepted")
	}
	lines := strings.Split(err.Error(), "\n")
	for i, want := range []string{"dim is -3", "members[2] is", "edges[", "method.tau", "privacy.clip", "wire.grid_bits"} {
		if i >= len(lines) || !strings.HasPrefix(lines[i], "fleetfile: "+path+": sdk: fleet: "+want) {
			t.Fatalf("fault %d of\n%v\nis not about %s", i, err, want)
		}
	}
	if len(lines) != 6 {
		t.Errorf("%d faults, want 6:\n%v", len(lines), err)
	}
	many := strings.Replace(string(text), `["b", "a"]`, strings.Repeat(`["x", "a"], `, 1000)+`["b", "a"]`, 1)
	_, err = parse([]byte(many), "", load)
	if err == nil || strings.Count(err.Error(), "\n") != maxFaults ||
		!strings.HasSuffix(err.Error(), "950 more errors") {
		t.Errorf("1000 faults gave\n%v", err)
	}
	if again := In("f", err); strings.Count(again.Error(), "\n") != maxFaults || !strings.HasSuffix(again.Error(), "950 more errors") {
		t.Errorf("with the name of the file, 1000 faults gave\n%v", again)
	}
}

// TestRangesAgree checks that the ranges stated in errors are exactly the ranges that sdk.Fleet accepts, including
// their end points.
func TestRangesAgree(t *testing.T) {
	shared := func(f *File, times float64) {
		withPairKeys(f)
		f.Fleet.Privacy.PairSigma, f.Fleet.Privacy.EffectiveSigma = times*f.Fleet.Privacy.Sigma, f.Fleet.Privacy.Sigma
	}
	for name, change := range map[string]func(f *File){
		"rounds": func(f *File) {
			f.Fleet.Method.Rounds, f.Fleet.Method.Eta = math.MaxInt32-f.Fleet.Method.Cooldown, []float64{1}
		},
		"cooldown":      func(f *File) { f.Fleet.Method.Cooldown = math.MaxInt32 - f.Fleet.Method.Rounds },
		"tau":           func(f *File) { f.Fleet.Method.Tau = math.MaxInt32 },
		"smallest rho":  func(f *File) { f.Fleet.Method.Rho = 1e-9 },
		"largest rho":   func(f *File) { f.Fleet.Method.Rho = 1e9 },
		"gain":          func(f *File) { f.Fleet.Method.Gain = math.Nextafter(1, 0) },
		"smallest mu":   func(f *File) { f.Fleet.Method.Mu, f.Fleet.Method.Eta = []float64{0x1p-126}, []float64{1e20} },
		"largest mu":    func(f *File) { f.Fleet.Method.Mu, f.Fleet.Method.Eta = []float64{math.MaxFloat32}, []float64{1e-20} },
		"clip":          func(f *File) { f.Fleet.Privacy.Clip, f.Fleet.Privacy.Sigma = 1e-30, 1e-30 },
		"epsilon limit": func(f *File) { f.Fleet.Privacy.EpsilonLimit = 1e6 },
		"grid":          func(f *File) { f.Fleet.Wire.GridBits = 2 },
		"mixing":        func(f *File) { f.Fleet.Method.Mixing = 1 << 16 },
		"most shared":   func(f *File) { shared(f, 1024) },
		"least shared":  func(f *File) { shared(f, 1./16) },
		"limit against all": func(f *File) {
			shared(f, 1)
			f.Fleet.Privacy.LimitAll = 1e6
		},
		"run": func(f *File) { f.Fleet.Run = strings.Repeat("ä", 32) },
	} {
		f := sample()
		change(f)
		if _, err := f.Fleet.Plan(); err != nil {
			t.Errorf("%s: the fleet itself: %v", name, err)
		}
		text, err := f.Marshal()
		if err != nil {
			t.Errorf("%s: the file: %v", name, err)
			continue
		}
		if back, err := parse(text, "", load); err != nil || !same(back, f) {
			t.Errorf("%s: read %+v, %v", name, back, err)
		}
	}
}
