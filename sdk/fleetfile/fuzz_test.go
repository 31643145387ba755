package fleetfile

import (
	"bytes"
	"errors"
	"reflect"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk/task"
)

// Whatever the bytes are, reading them ends in an error or in a fleet that is valid, has a text of its own, and is the
// same when that is read. There is one start vector, that of the sample.
func FuzzFleet(f *testing.F) {
	for _, file := range []*File{sample(), sharing(), rotated(), plain(), withTask()} {
		text, err := file.Marshal()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		load := func(_ string, size int64) ([]byte, error) {
			if size != 12 {
				return nil, errors.New("of another size")
			}
			return sample().start(), nil
		}
		file, err := parse(data, "", load, false)
		if err != nil {
			return
		}
		if err := file.Fleet.Validate(); err != nil {
			t.Fatalf("accepted, though %v", err)
		}
		text, err := file.Marshal()
		if err != nil {
			t.Fatalf("no text for %+v: %v", file, err)
		}
		back, err := parse(text, "", load, false)
		if err != nil || !reflect.DeepEqual(back, file) {
			t.Fatalf("%+v was read back as %+v, %v\n%s", file, back, err, text)
		}
		if again, err := back.Marshal(); err != nil || !bytes.Equal(again, text) {
			t.Fatalf("text\n%s\nthen\n%s\n%v", text, again, err)
		}
		if back.Fleet.Hash() != file.Fleet.Hash() {
			t.Fatal("the hash has changed")
		}
	})
}

// Whatever the bytes are, reading them ends in an error or in a recipe that is valid, has a text of its own, and is the
// same when that is read.
func FuzzTask(f *testing.F) {
	for _, r := range recipes() {
		text, err := MarshalTask(r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := ParseTask(data)
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
		back, err := ParseTask(text)
		if err != nil || !reflect.DeepEqual(back, r) {
			t.Fatalf("%+v was read back as %+v, %v\n%s", r, back, err, text)
		}
	})
}

// Whatever the bytes are, reading them ends in an error or in a node that names all it needs.
func FuzzNode(f *testing.F) {
	f.Add([]byte(nodeText))
	for _, oracle := range []string{`{"stream": ["./scorer", "x"], "workers": 2}`,
		`{"oneshot": ["./scorer", "{params}", "{sample}"], "samples": 5, "memory_mib": 64}`,
		`{"stream": ["scorer"], "format": "cbor", "timeout_seconds": 5, "start_seconds": 0.5}`,
		`{"builtin": {"data": "synthetic:clinical"}}`,
		`{"builtin": {"fit": "own", "model": "perceptron", "hidden": 4, "data": "synthetic:clinical"}}`} {
		f.Add([]byte(`{"version": 1, "name": "a", "fleet": "f", "key": "k", "state": "s", "oracle": ` + oracle + `}`))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		n, err := ParseNode(data, "dir")
		if err != nil {
			return
		}
		o := n.Oracle
		count := 0
		for _, there := range []bool{o.Builtin != nil, o.Stream != nil, o.OneShot != nil} {
			if there {
				count++
			}
		}
		if n.Name == "" || n.Fleet == "" || n.Key == "" || n.State == "" || count != 1 {
			t.Fatalf("accepted %+v", n)
		}
		if b := o.Builtin; b != nil && (b.FitOwn && (b.Spec.Validate() != nil || b.Model.Validate() != nil) ||
			task.CheckSource(b.Spec.Source) != nil) || o.Stream != nil && len(o.Stream.Command) == 0 {
			t.Fatalf("accepted %+v", o)
		}
		if again, err := ParseNode(data, "dir"); err != nil || !reflect.DeepEqual(again, n) {
			t.Fatalf("read again: %+v, %v", again, err)
		}
	})
}
