package tinytest

import (
	"slices"

	"github.com/spade-dfl/spade-edge/sdk/sim"
)

// Reorder delays every message by 0 to ticks ticks, each with the same probability, so that messages overtake each
// other.
func Reorder(seed uint64, ticks int) sim.FaultSchedule {
	return func(from, to, seq int) []int {
		return []int{draw(seed, kindReorder, from, to, seq).IntN(max(0, ticks) + 1)}
	}
}

// Partition isolates a group of clients: every edge between the group and the others loses its messages with the
// numbers start to end-1.
func Partition(start, end int, group ...int) sim.FaultSchedule {
	return func(from, to, seq int) []int {
		if seq >= start && seq < end && slices.Contains(group, from) != slices.Contains(group, to) {
			return nil
		}
		return onTime
	}
}
