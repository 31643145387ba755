package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/spade-dfl/spade-edge/examples/hospital/heart"
)

// TestWrite checks that heart.Write replaces a blood pressure or cholesterol of 0 with an empty cell, turns the diagnosis into
// yes or no, and changes nothing else.
func TestWrite(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	for _, name := range heart.Hospitals {
		text := "age,trestbps,chol,fbs,num\r\n40,0,0,0,0\r\n50,120,210,,3\r\n"
		if err := os.WriteFile(filepath.Join(from, name+".csv"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	files, err := heart.Write(from, to)
	if err != nil || len(files) != len(heart.Hospitals) {
		t.Fatalf("%q, %v", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if want := "age,trestbps,chol,fbs,ill\n40,,,0,no\n50,120,210,,yes\n"; err != nil || string(text) != want {
			t.Errorf("%q, %v, want %q", text, err, want)
		}
	}
	if _, err := heart.Write(to, filepath.Join(to, "none")); err == nil {
		t.Error("a folder that does not exist")
	}
}
