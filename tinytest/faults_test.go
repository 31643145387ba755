package tinytest_test

import (
	"slices"
	"testing"

	"github.com/spade-dfl/spade-edge/tinytest"
)

// TestChain checks that in a chain of schedules, copies multiply and delays add up.
func TestChain(t *testing.T) {
	late := func(ticks ...int) tinytest.FaultSchedule { return func(int, int, int) []int { return ticks } }
	for _, c := range []struct {
		schedules []tinytest.FaultSchedule
		want      []int
	}{
		{nil, []int{0}},
		{[]tinytest.FaultSchedule{late(0, 2), late(1), late(0, 0)}, []int{1, 1, 3, 3}},
		{[]tinytest.FaultSchedule{late(0, 2), late()}, nil},
		{[]tinytest.FaultSchedule{late(), late(0, 0)}, nil},
	} {
		if got := tinytest.Chain(c.schedules...)(0, 1, 1); !slices.Equal(got, c.want) {
			t.Errorf("%v, want %v", got, c.want)
		}
	}
}
