package task

import (
	"slices"
	"testing"
)

func TestClinicalDraws(t *testing.T) {
	long, short, other := Clinical(100, 1), Clinical(30, 1), Clinical(30, 2)
	if !slices.Equal(long.X[:len(short.X)], short.X) || !slices.Equal(long.Y[:30], short.Y) {
		t.Error("a patient depends on how many there are")
	}
	if slices.Equal(short.X, other.X) {
		t.Error("the seed plays no part")
	}
	if Clinical(0, 1).Len() != 0 || Clinical(-1, 1).Len() != 0 {
		t.Error("patients out of nothing")
	}
	const want = 0x307ed0db3b7282b1
	if got := digest(long.X...) ^ digest(long.Y...); got != want {
		t.Errorf("digest %#x, want %#x as on every processor", got, uint64(want))
	}
}
