package fleetfile

import (
	"bytes"
	"errors"
	"testing"
)

// FuzzFleet checks that parsing any bytes yields an error or a valid fleet, whose text parses to the same fleet. If the
// text names a start file, the fuzz test supplies the start vector of the fleet that the function sample returns,
// whatever the name of the file.
func FuzzFleet(f *testing.F) {
	for _, file := range []*File{sample(), sharing(), rotated(), plain()} {
		f.Add(must(file.Marshal())(f))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		load := func(_ string, size int64) ([]byte, error) {
			if size != 12 {
				return nil, errors.New("of another size")
			}
			return sample().start(), nil
		}
		file, err := parse(data, "", load)
		if err != nil {
			return
		}
		if _, err := file.Fleet.Plan(); err != nil {
			t.Fatalf("accepted, though %v", err)
		}
		text, err := file.Marshal()
		if err != nil {
			t.Fatalf("no text for %+v: %v", file, err)
		}
		back, err := parse(text, "", load)
		if err != nil || !same(back, file) {
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
