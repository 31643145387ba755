package dpmech

import (
	"errors"
	"fmt"
	"math"
)

// Shared describes pairwise noise, which cancels in the network (Allouah et al., "The privacy power of correlated noise
// in decentralized learning", arXiv 2405.01031). Each pair of partners has a Gaussian vector w that nobody else knows;
// one partner adds w to its release, and the other one subtracts w.
type Shared struct {
	// Sigma is the standard deviation of w in each coordinate. It is the local sigma times a power of two, so that w
	// lies on the grid of the local noise and cancels exactly.
	Sigma float64 `json:"sigma"`
	// Effective is the standard deviation of the noise that remains against an adversary who sees all releases and has
	// the knowledge of Colluders members: the local sigma times the square root of the graph's lowest conductance,
	// rounded down.
	Effective float64 `json:"effective_sigma"`
	Colluders int     `json:"colluders"` // c, 0 or more
	// Absent is the number of members, 0 or more, that may drop out while the other members keep adding pairwise noise.
	// Effective does not include the pairwise noise of colluding and absent members, whichever members they are; see
	// PROOF.md, part 3.
	Absent int `json:"absent,omitempty"`
	// Partners, if not 0, is the number of each member's partners, which need not be neighbors. If it is 0, each
	// member's partners are its neighbors.
	Partners int `json:"partners,omitempty"`
}

// Adversary returns the adversary that [Gaussian.Rho] refers to: [Everybody] if s is zero, that is, without pairwise
// noise.
func (s Shared) Adversary() Adversary {
	if s == (Shared{}) {
		return Adversary{}
	}
	return Adversary{Shared: true, Colluders: s.Colluders, Absent: s.Absent}
}

// These are the bounds of the exponent n for which the pairwise sigma is 2^n times the local sigma.
const (
	leastShared = -4
	mostShared  = 10
)

// exponent returns the integer n for which s.Sigma = sigma*2^n. ok is false if there is no such n.
func (s Shared) exponent(sigma float64) (n int, ok bool) {
	fraction, n := math.Frexp(s.Sigma / sigma)
	return n - 1, fraction == 0.5 && math.Ldexp(sigma, n-1) == s.Sigma
}

func (s Shared) validate(g Gaussian) error {
	var errs []error
	if n, ok := s.exponent(g.Sigma); !ok || n < leastShared || n > mostShared {
		errs = append(errs, fmt.Errorf("dpmech: shared sigma is %v, want sigma (%v) times a power of two in 2^%d..2^%d",
			s.Sigma, g.Sigma, leastShared, mostShared))
	}
	if !(s.Effective >= g.Sigma && s.Effective <= maxRatio*g.Clip) {
		errs = append(errs, fmt.Errorf("dpmech: effective sigma is %v, want at least sigma (%v) and at most 2^20 "+
			"times clip", s.Effective, g.Sigma))
	}
	if s.Colluders < 0 || s.Absent < 0 || s.Partners < 0 {
		errs = append(errs, fmt.Errorf("dpmech: colluders is %d, absent is %d and partners is %d, want 0 or more for "+
			"each", s.Colluders, s.Absent, s.Partners))
	}
	return errors.Join(errs...)
}

// Alone returns the parameters of a release without pairwise noise in a run whose other releases have pairwise noise.
// The sigma of this release is the smallest g.Sigma*2^n (n >= 0) that is at least g.Shared.Effective, so the release
// lies on the same grids and costs no more than a release with pairwise noise.
func (g Gaussian) Alone() Gaussian {
	alone := Gaussian{Clip: g.Clip, Sigma: g.Sigma, Unit: g.Unit}
	for alone.Sigma < g.Shared.Effective {
		alone.Sigma *= 2
	}
	return alone
}

// Pair describes the noise vector that a client shares with one partner in one round.
type Pair struct {
	// Key is known only to the two partners and used in one round of one run: a second use would reveal the difference
	// between two updates.
	Key      [32]byte
	Subtract bool // true at the end that subtracts the vector, false at the end that adds it
}

// share adds the noise vectors of pairs to the noise of a release.
func (m *Mechanism) share(g Gaussian, shift int, pairs []Pair) error {
	n, _ := g.Shared.exponent(g.Sigma)
	switch {
	case g.Shared == Shared{}:
		return fmt.Errorf("dpmech: %d neighbors share noise, but the release has no shared sigma", len(pairs))
	case shift+n < 0 || shift+n > 50 || math.Ldexp(float64(len(pairs)), shift+n) > 1<<54:
		return fmt.Errorf("dpmech: shared sigma is 2^%d grid steps for each of %d neighbors, want at most 2^50 each "+
			"and 2^54 in total", shift+n, len(pairs))
	}
	if m.shared == nil {
		m.shared = make([]int64, len(m.noise))
	}
	defer clear(m.shared)
	for _, p := range pairs {
		m.normal.key = p.Key
		m.normal.expand(m.shared, shift+n)
		for i, w := range m.shared {
			if p.Subtract {
				w = -w
			}
			m.noise[i] += w
		}
	}
	return nil
}
