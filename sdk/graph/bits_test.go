package graph

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"
)

// TestLambdaMaxBits checks that for up to 301 nodes the largest eigenvalue has the same bits in every version, because
// a run that an old version began continues with the same beta. The hashes below belong to the results of the first
// version.
func TestLambdaMaxBits(t *testing.T) {
	few, many := []int{1, 2, 3, 4, 5, 8, 9, 30, 31, 48, 49, 100, 121, 150, 201}, []int{299, 300, 301}
	for _, c := range []struct {
		spec, want string
		sizes      []int
	}{
		{"ring", "64ac217aa0647198", append(few, many...)},
		{"path", "8e5071f5df085369", append(few, 301)},
		{"star", "7154491dae4948e4", append(few, many...)},
		{"complete", "86aba833ea1dc421", append(few, many...)},
		{"er:0.1", "b67a2df788533b2b", many[1:]},
		{"er:0.3", "b7ffc40da02e4d26", few},
		{"er:0.8", "3eee632dc2996ec0", few},
		{"grid:1", "8af184572f8b33c0", few},
		{"grid:3", "c9ea871071474c24", []int{6, 9, 30, 60, 150, 300}},
		{"grid:10", "5667419232fd30ec", []int{10, 30, 100, 150, 300}},
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
