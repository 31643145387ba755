package scale

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOne checks that every form runs and reports its cost.
func TestOne(t *testing.T) {
	for _, form := range Forms {
		var out bytes.Buffer
		text := `{"Clients": 5, "Dim": 3, "Samples": 2, "Rounds": 2, "Form": "` + form + `"}`
		if err := One(context.Background(), text, &out); err != nil {
			t.Fatal(err)
		}
		var f Figure
		if err := json.Unmarshal(out.Bytes(), &f); err != nil || !(f.Round > 0) || !(f.MB >= 0) {
			t.Errorf("%s: %q, %v", form, &out, err)
		}
	}
	if err := One(context.Background(), "{", new(bytes.Buffer)); err == nil {
		t.Error("half a point, and no error")
	}
}

func TestPage(t *testing.T) {
	if p := exponent([]float64{1, 10, 100}, []float64{3, 30, 300}); math.Abs(p-1) > 1e-12 {
		t.Errorf("the exponent of a line is %v", p)
	}
	dir := t.TempDir()
	calls := 0
	err := write(dir, true, func(p Point) (Figure, error) {
		calls++
		x := float64(p.Clients) * float64(p.Dim) * float64(p.Samples)
		return Figure{Round: 1e-6 * x, MB: x * x}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil || calls != len(grown)*upper*len(Forms) || strings.Count(string(page), " 1.00 | 2.00 |") != 9 {
		t.Errorf("%d calls, %v:\n%s", calls, err, page)
	}
}
