package tinytest

import "github.com/spade-dfl/spade-edge/sdk/sim"

// GilbertElliott loses messages in bursts. Each direction of an edge is a channel that is good or bad. A good channel
// loses a message with probability inGood, a bad channel with probability inBad. From one message to the next a good
// channel becomes bad with probability worsen, and a bad channel becomes good with probability improve. Each channel
// starts in the stationary distribution. (Gilbert, "Capacity of a burst-noise channel", 1960; Elliott, 1963.)
func GilbertElliott(seed uint64, worsen, improve, inGood, inBad float64) sim.FaultSchedule {
	good, bad := either(seed, kindBurst, inGood, nil), either(seed, kindBurst, inBad, nil)
	return func(from, to, seq int) []int {
		if markovState(seed, kindChannel, from, to, seq, worsen, improve) {
			return bad(from, to, seq)
		}
		return good(from, to, seq)
	}
}

// Markov returns a function for Sim.Asleep. From one tick to the next, each client independently falls asleep with
// probability fall or, if it sleeps, wakes up with probability wake. Each client starts in the stationary distribution.
func Markov(seed uint64, fall, wake float64) func(client, tick int) bool {
	return func(client, tick int) bool { return markovState(seed, kindAsleep, client, 0, tick, fall, wake) }
}

// markovState returns state n of a stationary Markov chain with the states true and false; seed, kind, a and b select
// the chain. In each step, false becomes true with probability up, and true becomes false with probability down. Each
// step uses one random number. Some numbers lead to the same next state whatever the current state, so it suffices to
// go back to the last such number.
func markovState(seed uint64, kind uint32, a, b, n int, up, down float64) bool {
	up, down = min(max(0, up), 1), min(max(0, down), 1)
	low, high := min(up, 1-down), max(up, 1-down)
	turns := false // whether the steps visited so far flip the state
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
