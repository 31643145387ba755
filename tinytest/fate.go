package tinytest

import (
	"slices"

	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// Fate says what becomes of message number seq, counted from 0, of those that client from sends to client to: for each copy
// that arrives, how many ticks it is late. {0} is a message on time, {0, 0} one that comes twice, and none is lost. A Fate is a pure
// function: the same arguments have the same result, in any order and from any goroutine. The result must not be changed.
//
// In all fates of this package p is a probability; below 0 it counts as 0, above 1 as 1. Seeds tell the draws of two fates of one
// kind apart; fates of different kinds share none.
type Fate func(from, to, seq int) []int

var (
	onTime = []int{0}
	twice  = []int{0, 0}
)

// The kinds of draws, each with random numbers of its own.
const (
	kindDrop = iota + 1
	kindChannel
	kindBurst
	kindDelay
	kindReorder
	kindDuplicate
	kindAsleep
	kindOrder
)

// draw returns the random numbers of a fate for one message.
func draw(seed uint64, kind uint32, from, to, seq int) *rng.Stream {
	s := rng.New(seed, rng.Address{Purpose: rng.Fault, Component: kind, Client: uint32(from), Round: uint32(to), Step: uint32(seq)})
	return &s
}

// Drop loses each message with probability p, independently of all others.
func Drop(seed uint64, p float64) Fate {
	return func(from, to, seq int) []int {
		if draw(seed, kindDrop, from, to, seq).Float64() < p {
			return nil
		}
		return onTime
	}
}

// GilbertElliott loses messages in bursts: each edge, in each direction, is a channel that is good or bad, and a message is lost with
// probability inGood or inBad. From one message to the next a good channel becomes bad with probability worsen, and a bad
// one good with probability recover; it begins in the long-run mixture, with the share worsen/(worsen+recover) of bad ones.
// (Gilbert, "Capacity of a burst-noise channel", 1960; Elliott, 1963.)
func GilbertElliott(seed uint64, worsen, recover, inGood, inBad float64) Fate {
	return func(from, to, seq int) []int {
		p := inGood
		if chain(seed, kindChannel, from, to, seq, worsen, recover) {
			p = inBad
		}
		if draw(seed, kindBurst, from, to, seq).Float64() < p {
			return nil
		}
		return onTime
	}
}

// Delay makes each message late by the same number of ticks with probability p.
func Delay(seed uint64, p float64, ticks int) Fate {
	late := []int{max(0, ticks)}
	return func(from, to, seq int) []int {
		if draw(seed, kindDelay, from, to, seq).Float64() < p {
			return late
		}
		return onTime
	}
}

// Reorder makes every message late by 0 to ticks ticks, all equally likely, so that messages overtake each other.
func Reorder(seed uint64, ticks int) Fate {
	return func(from, to, seq int) []int {
		return []int{draw(seed, kindReorder, from, to, seq).IntN(max(0, ticks) + 1)}
	}
}

// Duplicate makes a message arrive twice with probability p.
func Duplicate(seed uint64, p float64) Fate {
	return func(from, to, seq int) []int {
		if draw(seed, kindDuplicate, from, to, seq).Float64() < p {
			return twice
		}
		return onTime
	}
}

// Partition cuts a group of clients off from the others: on every edge between the two, messages number start to end-1 are lost.
func Partition(start, end int, group ...int) Fate {
	return func(from, to, seq int) []int {
		if seq >= start && seq < end && slices.Contains(group, from) != slices.Contains(group, to) {
			return nil
		}
		return onTime
	}
}

// Nest lets a message go through several fates, one after the other: each is asked for every copy that the ones before let
// through, and what makes a copy late adds up.
func Nest(fates ...Fate) Fate {
	return func(from, to, seq int) []int {
		late := onTime
		for _, fate := range fates {
			more := fate(from, to, seq)
			if len(more) == 1 && more[0] == 0 {
				continue
			}
			var all []int
			for _, a := range late {
				for _, b := range more {
					all = append(all, a+b)
				}
			}
			late = all
		}
		return late
	}
}

// Markov returns when clients sleep, for Sim.Asleep: each on its own falls asleep with probability fall from one tick to the next,
// and wakes up with probability wake. It begins in the long-run mixture: the share fall/(fall+wake) sleeps.
func Markov(seed uint64, fall, wake float64) func(client, tick int) bool {
	return func(client, tick int) bool { return chain(seed, kindAsleep, client, 0, tick, fall, wake) }
}

// chain returns the n-th state of a stationary Markov chain of two states that turns true with probability up and false with
// probability down. Each step rests on one random number of its own, in such a way that some numbers end in the same state
// wherever the step began: so it is enough to look back as far as the last of those, about 1/(up+down) steps.
func chain(seed uint64, kind uint32, a, b, n int, up, down float64) bool {
	up, down = min(max(0, up), 1), min(max(0, down), 1)
	low, high := min(up, 1-down), max(up, 1-down)
	turns := false // whether what lies between turns the state around, or keeps it
	for ; n > 0; n-- {
		u := draw(seed, kind, a, b, n).Float64()
		switch {
		case u < low: // true, from either state
			return !turns
		case u >= high:
			return turns
		case up > 1-down:
			turns = !turns
		}
	}
	first := float64(draw(seed, kind, a, b, 0).Float64()*(up+down)) < up
	return first != turns
}
