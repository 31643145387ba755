package hog_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task"
	"github.com/spade-dfl/spade-edge/examples/paper/hog"
)

// stripes returns an image whose brightness varies as a wave in the direction (x, y).
func stripes(side int, x, y float64) []float32 {
	pixels := make([]float32, side*side)
	for r := range side {
		for c := range side {
			pixels[r*side+c] = float32(0.5 + 0.4*math.Sin(0.5*(x*float64(c)+y*float64(r))))
		}
	}
	return pixels
}

// TestOrientation checks which bins of a histogram are filled: the first and last bins if brightness changes only along
// x, and the middle bin if it changes only along y.
func TestOrientation(t *testing.T) {
	d := &task.Data{X: append(stripes(32, 1, 0), stripes(32, 0, 1)...), Y: []int{0, 1}, Dim: 32 * 32, Classes: 2}
	out, err := hog.Describe(d, 32)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range [][]int{{0, hog.Orientations - 1}, {hog.Orientations / 2}} {
		sums := make([]float64, hog.Orientations)
		total := 0.0
		for j, v := range out.Row(i) {
			sums[j%hog.Orientations] += float64(v * v)
			total += float64(v * v)
		}
		share := 0.0
		for _, bin := range want {
			share += sums[bin] / total
		}
		if share < 0.95 {
			t.Errorf("image %d: %.3f of the weight is in bins %v, want nearly all: %v", i, share, want, sums)
		}
	}
}

// TestBlocksHaveLengthOne checks that blocks have length one at any contrast, and that the descriptor of a blank image
// is zero.
func TestBlocksHaveLengthOne(t *testing.T) {
	image := stripes(24, 1, 0.7)
	weak := make([]float32, len(image))
	for i, v := range image {
		weak[i] = v / 8
	}
	d := &task.Data{X: append(append(image, weak...), make([]float32, 24*24)...), Y: []int{0, 1, 0}, Dim: 24 * 24,
		Classes: 2}
	out, err := hog.Describe(d, 24)
	if err != nil {
		t.Fatal(err)
	}
	size := hog.Block * hog.Block * hog.Orientations
	for i, want := range []float64{1, 1, 0} {
		for from := 0; from < out.Dim; from += size {
			sum := 0.0
			for _, v := range out.Row(i)[from : from+size] {
				sum += float64(v) * float64(v)
			}
			if math.Abs(sum-want) > 1e-4 {
				t.Errorf("image %d, block at %d has squared length %v, want %v", i, from, sum, want)
			}
		}
	}
}

func TestRefuses(t *testing.T) {
	for _, side := range []int{0, 8, 20, 32} {
		if _, err := hog.Describe(&task.Data{X: make([]float32, 576), Y: []int{0}, Dim: 576, Classes: 2}, side); err == nil {
			t.Errorf("side %d for rows of 576 numbers: no error", side)
		}
	}
}

func ExampleDim() {
	fmt.Println(hog.Dim(64))
	// Output: 1764
}
