package tinytest

import (
	"slices"

	"github.com/spade-dfl/spade-edge/sdk/sim"
)

// Reorder delays each message by a random number of ticks, uniform in 0..ticks, so that messages overtake each other.
func Reorder(seed uint64, ticks int) sim.FaultSchedule {
	return func(from, to, seq int) []int {
		return []int{draw(seed, kindReorder, from, to, seq).IntN(max(0, ticks) + 1)}
	}
}

// Partition isolates a group of clients. On each edge between a client in the group and a client outside it, the
// messages numbered start to end-1 are lost.
func Partition(start, end int, group ...int) sim.FaultSchedule {
	return func(from, to, seq int) []int {
		if seq >= start && seq < end && slices.Contains(group, from) != slices.Contains(group, to) {
			return nil
		}
		return onTime
	}
}
