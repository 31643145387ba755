package plan

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/dpmech/budget"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/graph"
	"github.com/spade-dfl/spade-edge/zoest"
	"github.com/spade-dfl/spade-edge/zoest/setting"
)

// Known is the input of [Suggest]: public numbers and fixed settings. A zero setting is open: Suggest chooses it.
type Known struct {
	Dim     int   // d, at least 1
	Samples []int // m_i of each member, at least 1 each
	Hidden  bool  // the model has a hidden layer and a random start: it needs a larger Mu and larger steps
	Columns bool  // each parameter is the weight of a table column, and many columns may be irrelevant
	Uneven  bool  // features are pixels or principal components: few directions have most of the variance
	Rare    bool  // few records have an event from which to learn, as for survival

	Method  sdk.Method
	Privacy sdk.Privacy // EpsilonLimit is the budget that determines Sigma
	Fixed   []string    // settings that stay zero, by their path in a fleet file: "method.cooldown"
	Open    bool        // Method.Estimator and Directions are open as well

	// Graph, if set, makes members share noise that cancels. Sigma, PairSigma and EffectiveSigma must then be either
	// all zero, so that Suggest chooses them for the budget, or all fixed. The budget covers what outsiders and any
	// Privacy.Colluders members can learn if at most Absent members drop out.
	Graph *graph.Graph
	noise *graph.Graph // which members share noise
}

// Suggest chooses all open settings. It does not check the others, as [sdk.Fleet.Plan] does. The error wraps [dpmech.ErrBudget] if the budget does not cover a single release.
//
//   - Rounds: 50, or as many as EpsilonLimit covers if Sigma and Clip are fixed. Rho: 1. Gain: 0.75. Delta: 1e-5.
//   - Estimator, if Open: tracking with Walsh directions, or the paper's if tracking would exceed setting.MemoryLimit.
//   - Tau: 2, or 3 with tracking. Cooldown: 30 with noise or tracking, else 0.
//   - Mu, Eta and Clip follow from Dim and the queries of a step, to three digits.
//   - Sigma: the least noise within EpsilonLimit (default 8). Shrink: 0.5 with Columns and record-level privacy, else 0.
//   - With Graph, Tau is chosen for about 4096 queries per round. Mixing and Cooldown follow from the rate at which
//     disagreement shrinks on the graph, and Clip follows from the ratio of signal to noise. Partners: 0, unless
//     sharing noise with partners instead of neighbors reduces the noise by more than a tenth. Absent: 1, if neighbors
//     share noise and this raises the noise by less than 3 %, else 0.
//
// sdk/DEFAULTS.md lists the alternatives that were tried.
func Suggest(k Known) (sdk.Method, sdk.Privacy, error) {
	m, p := k.Method, k.Privacy
	if k.Dim < 1 || len(k.Samples) == 0 || slices.Min(k.Samples) < 1 {
		return m, p, fmt.Errorf("plan: suggest: Dim is %d and Samples is %v, want a Dim of 1 or more and 1 or more "+
			"samples for every member", k.Dim, k.Samples)
	}
	if k.Open {
		m.Estimator, m.Directions = zoest.Paper, zoest.Rademacher
		if memory := int64(slices.Max(k.Samples)) * int64(k.Dim+3); memory <= setting.MemoryLimit/4 {
			m.Estimator, m.Directions = zoest.Tracking, zoest.Walsh
		}
		k.Method = m
	}
	def(&m.Rho, 1)
	// With this gain the fastest mode of disagreement vanishes after two rounds, and every other mode shrinks by
	// sqrt(1-g/2) per round, with g = a*rho*lambda. With any other gain some mode shrinks more slowly.
	def(&m.Gain, 0.75)
	if !p.NonPrivate {
		def(&p.Delta, 1e-5)
	}
	if err := k.pairUp(&p); err != nil {
		return m, p, err
	}
	if k.Graph == nil && (!p.NonPrivate || m.Estimator == zoest.Tracking && len(k.Samples) > 1) {
		choose(k, "method.cooldown", &m.Cooldown, 30)
	}
	if p.Unit == dpmech.Record && !p.NonPrivate {
		return k.suggestRecords(m, p)
	}
	if err := k.length(&m, p); err != nil {
		return m, p, err
	}
	queries := 0 // queries of the whole network in one local step
	for _, samples := range k.Samples {
		queries += batchOf(m, samples)
	}
	steps := m.Rounds * m.Tau
	reach, share, further, precise := k.reaches(m.Estimator == zoest.Tracking, p)
	root := math.Sqrt(float64(k.Dim))
	if len(m.Mu) == 0 {
		m.Mu = admm.Schedule{round3(reach / root)}
	}
	mu := m.Mu[0]
	if len(m.Eta) == 0 {
		noise := share * mu
		if precise { // Eta*Mu, the length of the steps, does not depend on Mu
			wider := 1.5 / (root * mu)
			noise *= wider * wider
		}
		m.Eta = admm.Schedule{round3(noise * math.Sqrt(float64(queries)/float64(steps)))}
	}
	var err error
	if !p.NonPrivate {
		err = k.protect(&m, &p, further*mu*root)
	}
	return m, p, err
}

// reaches returns what determines Mu, Eta and Clip. Mu is reach/sqrt(d). share is the noise of all steps, about
// eta*sqrt(steps/queries), divided by mu. All clipped updates move the model by further*mu*sqrt(d) if they have the same
// direction. If features have mean square 1, a query moves a score by about mu*sqrt(d), and a sigmoid is about linear up
// to 1.5. For rare events without noise, slopes must be precise: their reach is smaller, with steps of the same length.
// DEFAULTS.md has the measurements.
func (k Known) reaches(tracking bool, p sdk.Privacy) (reach, share, further float64, precise bool) {
	reach, share, further = 1.5, 0.4, 1.5
	if k.Hidden {
		reach, share, further = 3, 1.5, 0.75
	}
	switch {
	case tracking && k.lopsided(p): // the run must move far in directions of little variance
		share = 9
	case tracking && p.NonPrivate: // less noise allows larger steps
		share = 3
		if precise = k.Rare; precise {
			reach = 0.45
		}
	}
	return reach, share, further, precise
}

// lopsided reports whether a run with uneven features moves far in directions of little variance, because it has no
// noise or only noise that cancels.
func (k Known) lopsided(p sdk.Privacy) bool {
	return k.Uneven && (p.NonPrivate || k.Graph != nil && !k.Hidden)
}

// protect sets the clip, the noise and the mixing. far is the distance by which all clipped updates should move the
// model if they have the same direction.
func (k Known) protect(m *sdk.Method, p *sdk.Privacy, far float64) (err error) {
	rounds := float64(m.Rounds)
	if p.Sigma == 0 {
		def(&p.EpsilonLimit, 8)
	}
	if p.Clip == 0 && p.Sigma == 0 && k.Graph != nil && !k.Hidden {
		// Noise in the final model changes a score by the ratio of the distance far to signal, so the upper bound of
		// far is proportional to signal. A shorter distance does no harm: a linear model works equally well at any
		// distance from its start.
		one := *p
		one.Clip = 1
		if err = spend(&one, m.Rounds, k.noise); err != nil {
			return err
		}
		signal := math.Sqrt(rounds*float64(k.Graph.N())/float64(k.Dim)) / one.Sigma
		far = min(2*far, signal/2)
		if k.lopsided(*p) {
			far *= 2.5
		}
	}
	def(&p.Clip, round3(far/rounds))
	if p.Sigma == 0 {
		err = spend(p, m.Rounds, k.noise)
	}
	if err == nil && k.Graph != nil {
		if k.lopsided(*p) && m.Rounds >= 40 && m.Estimator == zoest.Tracking {
			choose(k, "method.momentum", &m.Momentum, 0.9)
		}
		k.settle(m, *p, k.lopsided(*p))
	}
	return err
}

// spend sets the noise that the budget requires. If g is not nil, neighbors in g share part of the noise.
func spend(p *sdk.Privacy, rounds int, g *graph.Graph) (err error) {
	p.Sigma, err = budget.SigmaFor(p.Clip, rounds, p.EpsilonLimit, p.Delta, p.Accounting)
	if err == nil && g != nil {
		err = share(p, g)
	}
	return err
}

// share splits p.Sigma into local noise and pairwise noise. The pairwise noise is the local noise times a power of two.
// share doubles this factor as long as each doubling saves at least a tenth of the local noise and the pairwise noise
// stays within 2*p.Sigma, because pairwise noise disturbs the queries until it cancels.
func share(p *sdk.Privacy, g *graph.Graph) error {
	need := p.Sigma
	for n := 0; n <= 10; n++ {
		ratio := math.Ldexp(1, n)
		c, err := g.Conductance(ratio, p.Colluders+p.Absent)
		if err != nil {
			return fmt.Errorf("plan: suggest: %w", err)
		}
		root := math.Sqrt(c.Least)
		sigma := rounded(need/root*(1+5e-6), 6) // rounded up
		if n > 0 && (ratio*sigma > 2*need || sigma > 0.9*p.Sigma) {
			return nil
		}
		p.Sigma, p.PairSigma, p.EffectiveSigma = sigma, ratio*sigma, max(sigma, sigma*root*(1-1e-12))
	}
	return nil
}

// settle chooses Mixing and Cooldown, the numbers of rounds in which pairwise noise cancels. Mixing depends on the graph;
// long chooses more.
func (k Known) settle(m *sdk.Method, p sdk.Privacy, long bool) {
	g := k.Graph
	if g.N() == 1 {
		return
	}
	// apart is the factor by which disagreement right after a release must shrink to reach a tenth of the noise in the
	// members' mean.
	apart := max(1, 10*math.Sqrt(2*float64(len(k.noise.Edges())))*p.PairSigma/p.Sigma)
	c, mixing := g.Chebyshev(), 4
	switch ratio := c.Low / c.High; {
	case ratio > 0.9:
		mixing = 1
	case long:
		mixing = 6
	case ratio > 0.12:
		mixing = 3
	}
	choose(k, "method.mixing", &m.Mixing, mixing)
	choose(k, "method.cooldown", &m.Cooldown, max(30, needed(c, 1/apart)))
}

// needed returns the number of cool-down rounds after which at most the given share, in (0, 1], of any disagreement
// remains.
func needed(c graph.Chebyshev, share float64) int {
	if c.High <= c.Low {
		return 1
	}
	return max(1, int(math.Ceil(math.Acosh(1/share)/math.Acosh((c.High+c.Low)/(c.High-c.Low)))))
}

// round3 rounds to three significant digits, so that people can type a suggestion.
func round3(x float64) float64 { return rounded(x, 3) }

func rounded(x float64, digits int) float64 {
	y, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', digits, 64), 64) // the text of a number always parses
	return y
}

// length sets Rounds and Tau.
func (k Known) length(m *sdk.Method, p sdk.Privacy) error {
	if m.Rounds == 0 && p.Sigma > 0 && p.Clip > 0 && p.EpsilonLimit > 0 {
		var err error
		g := p.Gaussian()
		if m.Rounds, err = dpmech.MaxRounds(g, p.EpsilonLimit, p.Delta, p.Accounting); err != nil {
			return err
		}
		if m.Rounds == 0 {
			one := dpmech.FormatEpsilon(p.Accounting.Epsilon(g.Rho(), p.Delta), 4)
			return fmt.Errorf("plan: a single release: %w: the release costs rho %.6g (epsilon %s), but the limit is "+
				"epsilon %v (%v accounting) at delta %v",
				dpmech.ErrBudget, g.Rho(), one, p.EpsilonLimit, p.Accounting, p.Delta)
		}
	}
	def(&m.Rounds, 50)
	if k.Graph != nil { // queries reveal nothing, so a run with little noise makes many
		def(&m.Tau, min(max(4096/batchOf(*m, slices.Max(k.Samples)), 2), 64))
	}
	if m.Estimator == zoest.Tracking {
		def(&m.Tau, 3) // tracking then makes as many queries as the other estimators with 2
	}
	def(&m.Tau, 2)
	return nil
}

// batchOf returns how many queries a member with the given number of samples makes in a local step.
func batchOf(m sdk.Method, samples int) int {
	if m.Batch > 0 {
		return min(m.Batch, samples)
	}
	return samples
}

// choose gives a setting that is zero the given value, unless the setting is fixed. Call it for settings for which zero
// is a valid choice.
func choose[T comparable](k Known, name string, setting *T, value T) {
	if !slices.Contains(k.Fixed, name) {
		def(setting, value)
	}
}

func def[T comparable](setting *T, value T) {
	if *setting == *new(T) {
		*setting = value
	}
}
