package builtin

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// models returns one model of each kind, with numbers that need many digits.
func models() []*Model {
	weights := []float32{1.0 / 3, float32(math.Copysign(0, -1)), math.SmallestNonzeroFloat32}
	return []*Model{
		{Run: "<heart> & \"soul\"", Fleet: [32]byte{1, 0xab}, Member: "süd", Round: 3, Rounds: 3, Task: recipes()[0],
			Certificate: json.RawMessage(`{"unit":"<all>","limit":null}`), Weights: weights,
			Threshold: &Threshold{Value: 1.0 / 3, Rule: "sensitivity:0.9", Samples: 7}, Alone: true},
		{Run: "r", Member: "a", Round: 1, Rounds: 9, NonPrivate: true, NoTask: Program,
			Weights: []float32{-math.MaxFloat32}},
		{Run: "r", Member: "a", Round: 2, Rounds: 9, NoTask: OwnFit, Weights: weights},
	}
}

// TestModelFaults checks that all errors in a file are reported at once.
func TestModelFaults(t *testing.T) {
	text, err := models()[0].Marshal()
	if err != nil {
		t.Fatal(err)
	}
	edit := func(pairs ...string) string {
		s := string(text)
		for i := 0; i < len(pairs); i += 2 {
			if strings.Count(s, pairs[i]) != 1 {
				t.Fatalf("%q is not there once in\n%s", pairs[i], s)
			}
			s = strings.Replace(s, pairs[i], pairs[i+1], 1)
		}
		return s
	}
	for input, want := range map[string][]string{
		"":     {"unexpected end"},
		"[]":   {"found array, want an object"},
		"{}":   {"version is missing"},
		bare(): {"no_task is \"\", want own fit or program", "model has 0 numbers, want at least one"},
		edit(`"round": 3`, `"round": 4`, `"done": true`, `"done": false`): {
			"rounds is 3, want at least 4"},
		edit(`"done": true`, `"done": true, "extra": 1`): {`unknown field "extra"`},
		edit(`"done": true`, `"done": false`):            {"done is false, want true exactly if round equals rounds"},
		edit("[0.33333334", "[1e39"):                     {"model: found number 1e39, want a number"},
		edit("[0.33333334", `["0.33333334"`):             {"model: found string, want a number"},
		edit("[0.33333334", "[0.5"):                      {"model_sha256 is", "the SHA-256 of the numbers in model"},
		edit("[0.33333334, ", "["):                       {"model has 2 numbers, want 3, as in the task"},
		edit("01ab", "01AB"):                             {"fleet is", "lower case"},
		edit("01ab", "1ab"):                              {"fleet is"},
		edit(`"certificate": {"unit": "<all>", "limit": null}`, `"certificate": 7`): {"certificate is 7, want an object"},
		edit(`"task": {`, `"no_task": "program", "task": {`):                        {"no_task is \"program\", want the field omitted: there is a task"},
		edit(`"value": 0.3333333333333333`, `"value": 1.5`):                         {"threshold.value is 1.5, want more than 0 and at most 1"},
		edit(`"source": "csv"`, `"source": "sql"`):                                  {"task: task: recipe: source is \"sql\""},
		edit(`"version": 1`, `"version": 2`):                                        {"version is 2, want 1"},
	} {
		_, err := ParseModel([]byte(input))
		for _, w := range want {
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Errorf("%.200s\n%v, want %q", input, err, w)
			}
		}
	}
	for _, m := range []*Model{
		{Run: "r", Member: "a", Round: 1, Rounds: 1, NoTask: Program},
		{Run: "r", Member: "a", Round: 1, Rounds: 1, NoTask: Program, Weights: []float32{1}, Threshold: &Threshold{Value: 0.5}},
		{Run: "r", Member: "a", Round: 1, Rounds: 1, Weights: []float32{1}},
		{Run: "r", Member: "a", Round: 1, Rounds: 1, NoTask: Program, Weights: []float32{float32(math.NaN())}},
		{Run: "r", Member: "a", Rounds: 1, NoTask: Program, Weights: []float32{1}},
	} {
		if text, err := m.Marshal(); err == nil {
			t.Errorf("written: %s", text)
		}
	}
	big := filepath.Join(t.TempDir(), "big.json")
	if err := os.WriteFile(big, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(big, maxModel+1); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadModel(big); err == nil || !strings.Contains(err.Error(), "want at most") {
		t.Errorf("a file that is too large: %v", err)
	}
}

func bare() string {
	return `{"version": 1, "run": "r", "fleet": "` + strings.Repeat("0", 64) + `", "name": "a", "round": 1, "rounds": 2,
		"done": false, "non_private": true, "model_sha256": "", "model": []}`
}

// FuzzModel checks that parsing arbitrary bytes as a model file yields an error or a model that survives a round trip
// through its text.
func FuzzModel(f *testing.F) {
	for _, m := range models() {
		text, err := m.Marshal()
		if err != nil {
			f.Fatal(err)
		}
		if back, err := ParseModel(text); err != nil || !reflect.DeepEqual(back, m) || !math.Signbit(float64(back.Weights[len(m.Weights)/2])) {
			f.Errorf("%+v was read back as %+v, %v\n%s", m, back, err, text)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := ParseModel(data)
		if err != nil {
			return
		}
		text, err := m.Marshal()
		if err != nil {
			t.Fatalf("no text for %+v: %v", m, err)
		}
		back, err := ParseModel(text)
		if err != nil || !reflect.DeepEqual(back, m) {
			t.Fatalf("%+v was read back as %+v, %v\n%s", m, back, err, text)
		}
		if again, err := back.Marshal(); err != nil || !bytes.Equal(again, text) {
			t.Fatalf("text\n%s\nthen\n%s\n%v", text, again, err)
		}
		if _, err := m.Predictor(); (err == nil) != (m.Task != nil) {
			t.Fatalf("a predictor of %+v: %v", m, err)
		}
	})
}
