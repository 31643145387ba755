package builtin

import (
	"reflect"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
)

// FuzzTask checks that parsing arbitrary bytes as a recipe yields an error or a valid recipe that survives a round trip
// through its text.
func FuzzTask(f *testing.F) {
	for _, r := range recipes() {
		text, err := MarshalTask(r)
		if err != nil {
			f.Fatal(err)
		}
		if back, err := parseTask(text); err != nil || !reflect.DeepEqual(back, r) {
			f.Errorf("%+v was read back as %+v, %v\n%s", r, back, err, text)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := parseTask(data)
		if err != nil {
			return
		}
		if err := r.Validate(); err != nil || r.Dim() < 1 {
			t.Fatalf("accepted, though %v; %d parameters", err, r.Dim())
		}
		text, err := MarshalTask(r)
		if err != nil {
			t.Fatalf("no text for %+v: %v", r, err)
		}
		back, err := parseTask(text)
		if err != nil || !reflect.DeepEqual(back, r) {
			t.Fatalf("%+v was read back as %+v, %v\n%s", r, back, err, text)
		}
	})
}

// FuzzNode checks that parsing arbitrary bytes as a node file yields an error or a node with all required fields.
func FuzzNode(f *testing.F) {
	f.Add([]byte(nodeText))
	for _, oracle := range []string{`{"stream": ["./scorer", "x"], "workers": 2}`,
		`{"stream": ["scorer"], "format": "cbor", "timeout_seconds": 5, "start_seconds": 0.5}`,
		`{"builtin": {"data": "synthetic:clinical"}}`,
		`{"builtin": {"fit": "own", "model": "perceptron", "hidden": 4, "data": "synthetic:clinical"}}`} {
		f.Add([]byte(`{"version": 1, "name": "a", "fleet": "f", "key": "k", "state": "s", "oracle": ` + oracle + `}`))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		n, err := fleetfile.ParseNode(data, "dir")
		if err != nil {
			return
		}
		if n.Name == "" || n.Fleet == "" || n.Key == "" || n.State == "" || n.Oracle == nil || n.Oracle.String() == "" {
			t.Fatalf("accepted %+v", n)
		}
		switch o := n.Oracle.(type) {
		case *Oracle:
			if o.FitOwn && (o.Spec.Validate() != nil || o.Model.Validate() != nil) || task.CheckSource(o.Spec.Source) != nil {
				t.Fatalf("accepted %+v", o)
			}
		case *fleetfile.Stream:
			if len(o.Command) == 0 {
				t.Fatalf("accepted %+v", o)
			}
		}
		if again, err := fleetfile.ParseNode(data, "dir"); err != nil || !reflect.DeepEqual(again, n) {
			t.Fatalf("read again: %+v, %v", again, err)
		}
	})
}
