package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
)

// TestEmbed checks that three pumps finish with the same model, which weights vibration about twice as much as heat,
// and that the program has at most 65 lines.
func TestEmbed(t *testing.T) {
	stdout := os.Stdout
	defer func() { os.Stdout = stdout }()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	os.Stdout = w
	main()
	w.Close()
	said, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	lines, models := strings.Split(strings.TrimSpace(string(said)), "\n"), map[string]bool{}
	var name string
	var heat, vibration, bias float64
	for _, line := range lines {
		_, err := fmt.Sscanf(strings.NewReplacer(":", " ", "[", "", "]", "").Replace(line), "%s it fails if %g %g %g", &name, &heat, &vibration, &bias)
		if err != nil || heat <= 0 || vibration < 1.2*heat || vibration > 8*heat {
			t.Errorf("%q: %v", line, err)
		}
		models[fmt.Sprint(heat, vibration, bias)] = true
	}
	if len(lines) != 3 || len(models) != 1 {
		t.Errorf("want three pumps with one model:\n%s", said)
	}
	code, err := os.ReadFile("main.go")
	if n := bytes.Count(code, []byte("\n")); err != nil || n > 65 {
		t.Errorf("main.go has %d lines, want at most 65 (%v)", n, err)
	}
}
