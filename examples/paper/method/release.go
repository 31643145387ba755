package method

import (
	"math"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/dpmech/budget"
	"github.com/spade-dfl/spade-edge/zoest/rng"
	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// release is the Gaussian mechanism of a run: it clips a vector to a ball and adds noise with standard deviation sigma
// to every coordinate. The zero value, for a world without privacy, does nothing.
//
// The noise is derived from the world's seed, because this is a simulation. This noise protects no real data.
type release struct {
	clip, sigma float64
}

// newRelease returns the mechanism for the given number of releases, which together cost at most p. Vectors are clipped
// to the length clip. radius is half the sensitivity: replacing one client's data moves the mean of a release by at
// most twice radius. Usually a release is a clipped vector, and radius equals clip. The accounting is Gaussian
// differential privacy (Dong, Roth and Su 2022), as in the rest of SPADE-Edge.
//
// Releases may be chosen adaptively. They may also depend on the client's own unreleased state and random draws: given
// these, a release is a Gaussian vector whose center lies in a ball of the given radius, whatever the data. This is all
// that the accounting requires.
func newRelease(p *Privacy, clip, radius float64, releases int) (release, error) {
	if p == nil {
		return release{}, nil
	}
	sigma, err := budget.SigmaFor(radius, releases, p.Epsilon, p.Delta, dpmech.GDP)
	return release{clip: clip, sigma: sigma}, err
}

// bound clips v to the ball in place. It replaces a vector that is not finite with zero.
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

// blur adds noise to v, a client's release in a round and step. The noise is determined by seed, client, round and
// step.
func (r release) blur(v []float32, seed uint64, client, round, step int) {
	if r.sigma == 0 {
		return
	}
	s := rng.New(seed, rng.Address{Purpose: rng.Noise, Client: uint32(client), Round: uint32(round), Step: uint32(step)})
	for i := range v {
		v[i] += float32(r.sigma * s.Normal())
	}
}

// clips returns the parameter "clip" with the given search range, or nil in a world without privacy.
func (w *World) clips(low, high float64) []Param {
	if w.Privacy == nil {
		return nil
	}
	return []Param{{Name: "clip", Low: low, High: high, Log: true}}
}
