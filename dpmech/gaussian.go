package dpmech

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"sort"
)

// maxRatio bounds sigma/R and R/sigma, so that all integers of a release fit in 64 bits.
const maxRatio = 1 << 20

// These are the bounds of [Gaussian].Clip.
const (
	MinClip = 1e-30
	MaxClip = 1e30
)

// Gaussian has the parameters of one release: an update clipped to the ball of radius Clip (R_k in the paper) plus
// Gaussian noise with standard deviation Sigma (sigma_dp,k) in each coordinate. Neither Clip nor Sigma alone determines
// the privacy cost.
//
// Without pairwise noise, as in the paper, Shared is zero. Otherwise the release also has the noise of its [Pair]s.
// This noise protects the release from everyone who does not have the keys of the pairs.
type Gaussian struct {
	Clip   float64 `json:"clip"`  // R > 0, in units of the parameter vector
	Sigma  float64 `json:"sigma"` // standard deviation > 0 of the client's local noise, in the same units
	Shared Shared  `json:"shared,omitzero"`
	Unit   Unit    `json:"unit,omitzero"` // what is protected: except with Client, Clip is R_s, the radius of each unit's part of the update
}

// String returns the parameters in the form used in error messages.
func (g Gaussian) String() string {
	text := fmt.Sprintf("clip %v and sigma %v%s", g.Clip, g.Sigma, g.Unit.Phrase())
	if g.Shared != (Shared{}) {
		text += fmt.Sprintf(", shared sigma %v and effective sigma %v against %s",
			g.Shared.Sigma, g.Shared.Effective, g.Shared.Adversary())
	}
	return text
}

// Validate returns an error if g does not describe a valid private release.
func (g Gaussian) Validate() error {
	var errs []error
	if !(g.Clip >= MinClip && g.Clip <= MaxClip) {
		errs = append(errs, fmt.Errorf("dpmech: clip is %v, want 1e-30..1e30", g.Clip))
	}
	if err := g.Unit.Validate(); err != nil {
		errs = append(errs, err)
	}
	if !(g.Sigma > 0) || math.IsInf(g.Sigma, 0) {
		errs = append(errs, fmt.Errorf("dpmech: sigma is %v, want a positive number", g.Sigma))
	}
	if len(errs) == 0 && (g.Sigma > maxRatio*g.Clip || g.Clip > maxRatio*g.Sigma) {
		errs = append(errs, fmt.Errorf("dpmech: sigma/clip is %v, want 2^-20..2^20", g.Sigma/g.Clip))
	}
	if len(errs) == 0 && g.Shared != (Shared{}) {
		return g.Shared.validate(g)
	}
	return errors.Join(errs...)
}

// Rho returns the cost of the release in zCDP against the adversary that the fleet names, rounded up: 2R^2/sigma^2,
// where sigma is Shared.Effective if there is pairwise noise. It is +Inf if g is not valid.
func (g Gaussian) Rho() float64 {
	if g.Shared.Effective > 0 {
		return g.rho(g.Shared.Effective)
	}
	return g.rho(g.Sigma)
}

// RhoAll returns the cost in zCDP against all other members together, who know all pairwise noise. It is 2R^2/sigma^2
// with the local sigma, rounded up.
func (g Gaussian) RhoAll() float64 { return g.rho(g.Sigma) }

// rho returns the cost of the release against an adversary who cannot remove part of the noise. The parameter faced is
// the standard deviation of this part.
func (g Gaussian) rho(faced float64) float64 {
	if g.Validate() != nil {
		return math.Inf(1)
	}
	clip, sigma := new(big.Float).SetPrec(106).SetFloat64(g.Clip), new(big.Float).SetPrec(106).SetFloat64(faced)
	clip.Mul(clip, clip).SetMantExp(clip, 1)
	sigma.Mul(sigma, sigma)
	rho := new(big.Float).SetPrec(53).SetMode(big.ToPositiveInf)
	up, _ := rho.Quo(clip, sigma).Float64()
	return up
}

// times returns n*rho, the cost of n releases, rounded up.
func times(n int, rho float64) float64 {
	total := float64(n) * rho
	if math.FMA(float64(n), rho, -total) > 0 { // the exact rounding error
		total = math.Nextafter(total, math.Inf(1))
	}
	return total
}

// MaxRounds returns the maximum number of releases, each with the parameters g, that are jointly (epsilon,
// delta)-private. The result is between 0 and 2^31-1. MaxRounds fails if an argument is out of range (see
// [Accounting.MaxRho] and [Gaussian.Validate]).
func MaxRounds(g Gaussian, epsilon, delta float64, acc Accounting) (int, error) {
	if err := errors.Join(acc.inRange(epsilon, delta), g.Validate()); err != nil {
		return 0, err
	}
	rho := g.Rho()
	return sort.Search(math.MaxInt32, func(n int) bool { return acc.Epsilon(times(n+1, rho), delta) > epsilon }), nil
}
