package adapter

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

func TestParse(t *testing.T) {
	good := map[string]string{
		"random:256:7":    `{"form":"random","dim":256,"of":1000,"seed":7}`,
		"coords:3,5-9,12": `{"form":"coords","dim":7,"of":1000,"ranges":[[3,3],[5,9],[12,12]]}`,
		"lora:2:9:fc=0:10x64,out=640:3x10": `{"form":"lora","dim":26,"of":1000,"seed":9,"rank":2,"matrices":[{"name":"fc","offset":0,` +
			`"rows":10,"columns":64},{"name":"out","offset":640,"rows":3,"columns":10}]}`,
	}
	for text, want := range good {
		if s := mustParse(t, text, 1000); s.String() != want {
			t.Errorf("%s is %s, want %s", text, s, want)
		}
	}
	for text, want := range map[string]string{
		"":                                 "want random:DIM:SEED, coords:RANGES or lora",
		"random":                           "want random:DIM:SEED, coords:RANGES or lora",
		"random:256":                       "want random:DIM:SEED, coords:RANGES or lora",
		"random:256:7:8":                   "want random:DIM:SEED, coords:RANGES or lora",
		"random: 256:7":                    "want random:DIM:SEED, coords:RANGES or lora",
		"random:0:7":                       "dim is 0, want 1..1000",
		"random:1001:7":                    "dim is 1001, want 1..1000",
		"random:9:-7":                      "want random:DIM:SEED, coords:RANGES or lora",
		"lora:2:9:fc=0:10":                 "matrix \"fc=0:10\", want NAME",
		"lora:2:9:":                        "matrix \"\", want NAME",
		"lora:0:9:fc=0:10x64":              "rank is 0",
		"lora:2:9:fc=0:10x101":             "within coordinates 0..999",
		"lora:2:9:a=0:10x10,b=99:2x2":      "matrices[1]",
		"lora:2:9:=0:10x10":                "name",
		"lora:64:9:fc=0:10x64,b=640:9x9":   "dim is 1216, want 1..1000",
		"lora:1024:9:fc=0:4194304x4194304": "within coordinates",
		"bias:3":                           "want random:DIM:SEED, coords:RANGES or lora",
	} {
		if _, err := Parse(text, 1000); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if r, d, err := ParseRanges("3, 5-9\n12-12"); err != nil || d != 7 || fmt.Sprint(r) != "[[3 3] [5 9] [12 12]]" {
		t.Errorf("ranges %v, %d, %v", r, d, err)
	}
	if _, _, err := ParseRanges("3 x-9"); err == nil || !strings.Contains(err.Error(), `"x-9"`) {
		t.Errorf("wrong range: %v", err)
	}
}

func TestValidateReportsEveryFault(t *testing.T) {
	file := &File{"f", strings.Repeat("a", 64)}
	for want, s := range map[string]Spec{
		"form is \"\"":                          {Dim: 1, Of: 1},
		"of is 0":                               {Form: Random, Dim: 1},
		"of is 268435457":                       {Form: Random, Dim: 1, Of: Most + 1},
		"seed is 3, want none for coords":       {Form: Coords, Dim: 1, Of: 1, Ranges: [][2]int{{0, 0}}, Seed: 3},
		"ranges is present":                     {Form: Random, Dim: 1, Of: 1, Ranges: [][2]int{{0, 0}}},
		"matrices or rank":                      {Form: Random, Dim: 1, Of: 1, Rank: 1},
		"basis: want a file":                    {Form: Basis, Dim: 1, Of: 1},
		"if the form is basis, found form lora": {Form: LoRA, Dim: 1, Of: 1, Basis: file},
		"ranges[1] is [1 2]":                    {Form: Coords, Dim: 4, Of: 9, Ranges: [][2]int{{0, 1}, {1, 2}}},
		"ranges[0] is [-1 2]":                   {Form: Coords, Dim: 4, Of: 9, Ranges: [][2]int{{-1, 2}}},
		"ranges[0] is [8 9]":                    {Form: Coords, Dim: 2, Of: 9, Ranges: [][2]int{{8, 9}}},
		"dim is 5, want 2, which follows":       {Form: Coords, Dim: 5, Of: 9, Ranges: [][2]int{{7, 8}}},
		"matrices[0] has the name":              {Form: LoRA, Dim: 1, Of: 9, Rank: 1, Matrices: []Matrix{{"a,b", 0, 1, 1}}},
		"rank is 1025":                          {Form: LoRA, Dim: 1, Of: 9, Rank: 1025, Matrices: []Matrix{{"a", 0, 1, 1}}},
	} {
		if err := s.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", &s, err, want)
		}
	}
}

// TestMoved checks that Moved returns the mean squared length of the change of x when c consists of random signs.
func TestMoved(t *testing.T) {
	const draws = 200
	for _, s := range cases(t) {
		if s.Form == Basis {
			continue
		}
		a, err := New(*s, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		c, x, sum := make([]float32, s.Dim), make([]float32, s.Of), 0.0
		draw := rng.New(1, rng.Address{Purpose: rng.Generate})
		for range draws {
			for k := range c {
				c[k] = float32(1 - 2*draw.IntN(2))
			}
			a.Expand(x, c)
			for _, v := range x {
				sum += float64(v) * float64(v) / draws
			}
		}
		if ratio := sum / float64(s.Moved()); math.Abs(ratio-1) > 0.1 {
			t.Errorf("%s: signs change %v in the mean square, want %d", s, sum, s.Moved())
		}
	}
}

// FuzzSpec checks that every spec in a fleet file is either rejected or can be expanded.
func FuzzSpec(f *testing.F) {
	for _, s := range cases(f) {
		f.Add([]byte(s.String()))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var s Spec
		if json.Unmarshal(text, &s) != nil || s.Validate() != nil || s.Of > 1<<16 || s.Dim > 1<<8 {
			return
		}
		var basis []float32
		if s.Form == Basis {
			basis = numbers(s.Dim*s.Of, 1)
		}
		a, err := New(s, nil, basis)
		if err != nil {
			t.Fatal(err)
		}
		a.Expand(make([]float32, s.Of), numbers(s.Dim, 2))
	})
}

// TestTask checks that members whose adapters differ refuse each other, and that the files which carry a spec are read.
func TestTask(t *testing.T) {
	fleet := func(text string) *sdk.Fleet {
		s := mustParse(t, text, 100)
		return &sdk.Fleet{Run: "r", Dim: s.Dim, Members: []string{"a", "b"}, Edges: [][2]string{{"a", "b"}}, Task: s.Task(),
			Method:  sdk.Method{Rounds: 2, Tau: 1, Rho: 1, Gain: 0.4, Eta: []float64{0.1}, Mu: []float64{s.Radius()}},
			Privacy: sdk.Privacy{NonPrivate: true}}
	}
	mine := fleet("random:6:7")
	if _, err := mine.Plan(); err != nil {
		t.Fatal(err)
	}
	if err := mine.CheckHello("a")("b", fleet("random:6:7").Hello("b")("a")); err != nil {
		t.Error(err)
	}
	if err := mine.CheckHello("a")("b", fleet("random:6:8").Hello("b")("a")); err == nil || !strings.HasSuffix(err.Error(), ": task differs") {
		t.Errorf("another seed: %v", err)
	}
	s, dir := mustParse(t, "random:6:7", 100), t.TempDir()
	if s.Radius() != 0.15 || mustParse(t, "random:6:7", 700).Radius() != 0.0567 {
		t.Errorf("radius %v", s.Radius())
	}
	for name, text := range map[string]string{"task": string(s.Program()), "fleet": fmt.Sprintf(`{"run":"r","task":%s}`, s.Task())} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := ReadSpec(path); err != nil || got.String() != s.String() {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	path := filepath.Join(dir, "other")
	if err := os.WriteFile(path, []byte(`{"task":{"columns":[]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadSpec(path); err == nil || !strings.Contains(err.Error(), "has no adapter") {
		t.Errorf("another task: %v", err)
	}
}
