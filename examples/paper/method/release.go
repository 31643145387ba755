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

// newRelease returns the mechanism that makes a number of releases within p, where replacing one client's data moves
// the mean of what is released by at most twice radius. Usually the release is a clipped vector, and radius is the
// clip. The accounting is Gaussian differential privacy (Dong, Roth and Su 2022), as everywhere in SPADE-Edge.
//
// Releases may be chosen adaptively, and may depend on the client's own unreleased state and draws: given those, each
// is a Gaussian whose center lies in a ball of that radius whatever the data. The accounting needs no more.
func newRelease(p *Privacy, clip, radius float64, releases int) (release, error) {
	if p == nil {
		return release{}, nil
	}
	sigma, err := dpmech.SigmaFor(radius, releases, p.Epsilon, p.Delta, dpmech.GDP)
	return release{clip: clip, sigma: sigma}, err
}

// bound clips v to the ball. A vector that is not finite becomes zero.
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

// blur adds the noise of one release, which client, round and step identify.
func (r release) blur(v []float32, seed uint64, client, round, step int) {
	if r.sigma == 0 {
		return
	}
	s := rng.New(seed, rng.Address{Purpose: rng.Noise, Client: uint32(client), Round: uint32(round), Step: uint32(step)})
	for i := range v {
		v[i] += float32(r.sigma * s.Normal())
	}
}

// clips returns the range in which to search the clip; nil without privacy.
func (w *World) clips(low, high float64) []Param {
	if w.Privacy == nil {
		return nil
	}
	return []Param{{Name: "clip", Low: low, High: high, Log: true}}
}
