package method

import (
	"math"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/zoest/rng"
	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// release is the Gaussian mechanism of a run: it clips a vector to a ball and adds noise of standard deviation sigma
// to every coordinate. The zero value does nothing, for a world without privacy.
//
// The noise comes from the world's seed: this is a simulation, and its outputs protect no one.
type release struct {
	clip, sigma float64
}

// newRelease returns the mechanism for a number of releases that together cost at most p. clip is the length to which
// it clips vectors. radius is the sensitivity bound: replacing one client's data moves the mean of a release by at most
// twice radius. Usually a release is a clipped vector, and radius equals clip. The accounting is Gaussian differential
// privacy (Dong, Roth and Su 2022), as everywhere in SPADE-Edge.
//
// Releases may be chosen adaptively. They may also depend on the client's own unreleased state and draws: given these,
// a release is a Gaussian whose center lies in a ball of that radius, whatever the data. The accounting needs no more
// than that.
func newRelease(p *Privacy, clip, radius float64, releases int) (release, error) {
	if p == nil {
		return release{}, nil
	}
	sigma, err := dpmech.SigmaFor(radius, releases, p.Epsilon, p.Delta, dpmech.GDP)
	return release{clip: clip, sigma: sigma}, err
}

// bound clips v to the ball, in place. A vector that is not finite becomes zero.
func (r release) bound(v []float32) {
	if r.clip == 0 {
		return
	}
	n := norm(v)
	switch {
	case math.IsNaN(n) || math.IsInf(n, 0):
		clear(v)
	case n > r.clip:
		vec.Scale(v, float32(r.clip/n))
	}
}

// blur adds noise to v, which is the release of a client in a round and a step. seed, client, round and step determine
// the noise.
func (r release) blur(v []float32, seed uint64, client, round, step int) {
	if r.sigma == 0 {
		return
	}
	s := rng.New(seed, rng.Address{Purpose: rng.Noise, Client: uint32(client), Round: uint32(round), Step: uint32(step)})
	for i := range v {
		v[i] += float32(r.sigma * s.Normal())
	}
}

// clips returns the parameter "clip" with a range for the search, or nil in a world without privacy.
func (w *World) clips(low, high float64) []Param {
	if w.Privacy == nil {
		return nil
	}
	return []Param{{Name: "clip", Low: low, High: high, Log: true}}
}
