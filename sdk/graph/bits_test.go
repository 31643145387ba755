package graph

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"
)

// TestLambdaMaxBits checks that for up to 301 nodes the largest eigenvalue has the same bits on every processor, because
// beta depends on it.
func TestLambdaMaxBits(t *testing.T) {
	few, many := []int{1, 2, 3, 5, 8, 31, 49, 121}, []int{300, 301}
	for _, c := range []struct {
		spec, want string
		sizes      []int
	}{
		{"ring", "11c4c6a58e13c083", append(few, many...)},
		{"path", "8c32409e14c0dcc7", append(few, 301)},
		{"star", "63d59b75bb7fd6cf", append(few, many...)},
		{"complete", "88dc5b4f5b340be9", append(few, many...)},
		{"er:0.1", "76ed7a6c5f5d2b3f", many[1:]},
		{"er:0.3", "a483bfefc3a1ff47", few},
		{"er:0.8", "de5daa3f58d5c068", few},
		{"grid:1", "f722db082b168d01", few},
		{"grid:3", "02216a7f47df21de", []int{6, 9, 30, 150}},
		{"grid:10", "5756d98512b7370f", []int{10, 30, 150}},
	} {
		t.Run(c.spec, func(t *testing.T) {
			sum := sha256.New()
			for _, n := range c.sizes {
				spec, seed := c.spec, uint64(n)
				if rows := 0; strings.HasPrefix(spec, "grid") {
					fmt.Sscanf(spec, "grid:%d", &rows)
					spec = fmt.Sprintf("%sx%d", spec, n/rows)
				}
				top := mustParse(t, spec, n, seed).LambdaMax()
				if err := binary.Write(sum, binary.LittleEndian, math.Float64bits(top)); err != nil {
					t.Fatal(err)
				}
			}
			if got := fmt.Sprintf("%x", sum.Sum(nil)[:8]); got != c.want {
				t.Errorf("the bits of %d graphs have hash %s, want %s", len(c.sizes), got, c.want)
			}
		})
	}
}
