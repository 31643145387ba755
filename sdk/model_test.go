package sdk_test

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"slices"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk"
)

// TestShrink checks that the model of the last release has each coordinate moved toward X0 by Shrink standard deviations
// of the noise of the mean, but not beyond X0.
func TestShrink(t *testing.T) {
	f := &sdk.Fleet{Members: make([]string, 4), X0: []float32{0.25, -0.5, 0, 1}, Method: sdk.Method{Rounds: 9, Cooldown: 2, Shrink: 0.5},
		Privacy: sdk.Privacy{Sigma: 0.25}} // the noise of the mean is 0.25*3/2, and half of that 0.1875
	x := []float32{1.25, -1.5, 0.125, 0.875}
	if got, want := f.Model(x, 11), []float32{1.0625, -1.3125, 0, 1}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	f.X0 = nil
	if got, want := f.Model(x, 11), []float32{1.0625, -1.3125, 0, 0.6875}; !slices.Equal(got, want) {
		t.Errorf("from zeros: %v, want %v", got, want)
	}
	f.Privacy = sdk.Privacy{NonPrivate: true}
	if got := f.Model(x, 11); !slices.Equal(got, x) {
		t.Errorf("without noise: %v", got)
	}
}

// TestModelHash checks that ModelHash equals the hash computed by a plain loop, at lengths around the block size.
func TestModelHash(t *testing.T) {
	for _, n := range []int{0, 1, 1023, 1024, 1025, 5000} {
		x, b := make([]float32, n), []byte{}
		for i := range x {
			x[i] = float32(i) - 0.5
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x[i]))
		}
		if sum := sha256.Sum256(b); sdk.ModelHash(x) != hex.EncodeToString(sum[:]) {
			t.Errorf("n = %d: not the hash of a plain loop", n)
		}
	}
}
