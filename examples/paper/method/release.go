package method

import (
	"math"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/zoest/rng"
	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// release is the Gaussian mechanism of a run: a vector clipped to a ball and noise of standard deviation sigma on every
// coordinate. The zero value does nothing, as a world without privacy wants it.
//
// The noise is drawn from the world's seed: this is a simulation, and its outputs protect nobody.
type release struct {
	clip, sigma float64
}

// newRelease returns the mechanism that makes a number of releases within p, where replacing one client's data moves
// the mean of what is released by at most twice radius. In the usual case, that of a clipped vector, radius is the clip
// itself. The account is that of Gaussian differential privacy (Dong, Roth and Su 2022), as everywhere in SPADE-Edge.
//
// Releases may be chosen in the light of earlier ones, and may depend on the client's own unreleased state and draws:
// given those, each is a Gaussian whose center lies in a ball of that radius whatever the data, which is all that the
// account asks for.
func newRelease(p *Privacy, clip, radius float64, releases int) (release, error) {
	if p == nil {
		return release{}, nil
	}
	sigma, err := dpmech.SigmaFor(radius, releases, p.Epsilon, p.Delta, dpmech.GDP)
	return release{clip: clip, sigma: sigma}, err
}

// bound clips v to the ball. What is not a finite vector becomes zero.
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

// blur adds the noise of one release, named by who makes it and when.
func (r release) blur(v []float32, seed uint64, client, round, step int) {
	if r.sigma == 0 {
		return
	}
	s := rng.New(seed, rng.Address{Purpose: rng.Noise, Client: uint32(client), Round: uint32(round), Step: uint32(step)})
	for i := range v {
		v[i] += float32(r.sigma * s.Normal())
	}
}

// clips is the range in which a clip is searched; nothing without privacy.
func (w *World) clips(low, high float64) []Param {
	if w.Privacy == nil {
		return nil
	}
	return []Param{{Name: "clip", Low: low, High: high, Log: true}}
}
