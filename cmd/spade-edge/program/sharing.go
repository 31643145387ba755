package program

import (
	"fmt"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/graph"
)

// sharingConflicts reports what is wrong with the flags of noise that neighbors share.
func (o *options) sharingConflicts(f *faults) {
	for _, name := range []string{"pair-sigma", "limit-all", "absent"} {
		f.when(o.given[name] && !o.given["colluders"],
			"-%s without -colluders, want both: only -colluders makes neighbors share noise, and says against whom -epsilon "+
				"holds", name)
	}
	f.when(o.given["colluders"] && o.given["sigma"] != o.given["pair-sigma"],
		"-sigma and -pair-sigma go together where noise is shared (-colluders): give both, or -epsilon, from which "+
			"both follow")
	g := dpmech.Gaussian{Clip: o.asked.Privacy.Sigma, Sigma: o.asked.Privacy.Sigma, Shared: dpmech.Shared{Sigma: o.asked.Privacy.PairSigma, Effective: o.asked.Privacy.Sigma}}
	if err := g.Validate(); o.asked.Privacy.Sigma > 0 && o.asked.Privacy.PairSigma > 0 && err != nil {
		f.add("-pair-sigma: %w", err)
	}
	f.when(o.given["limit-all"] && o.given["sigma"] && !o.given["epsilon"],
		"-limit-all without -epsilon: with -sigma the run has no limit that it could be part of")
	f.when(o.given["colluders"] && o.asked.Privacy.LimitAll > 0 && o.asked.Privacy.LimitAll < o.asked.Privacy.EpsilonLimit,
		"-limit-all is %v, want at least -epsilon (%v): all other members together know more than any few of them",
		o.asked.Privacy.LimitAll, o.asked.Privacy.EpsilonLimit)
}

// shareNoise makes neighbors share noise if that is asked for. It refuses a graph in which all neighbors of somebody may
// collude or vanish: of the noise that this member shares nothing would be left.
func (p *problem) shareNoise(known *sdk.Known, members []string) error {
	o := &p.opt
	if !o.given["colluders"] {
		return nil
	}
	lonely := 0
	for i := range members {
		if len(p.graph.Neighbors(i)) < len(p.graph.Neighbors(lonely)) {
			lonely = i
		}
	}
	if n, pr := len(p.graph.Neighbors(lonely)), o.asked.Privacy; n <= pr.Colluders || n <= pr.Colluders+pr.Absent {
		flags, would := fmt.Sprintf("-colluders %d", pr.Colluders), "more neighbors (-graph)"
		if pr.Absent > 0 {
			flags += fmt.Sprintf(" and -absent %d", pr.Absent)
		}
		switch {
		case n > 1 && pr.Absent > 0:
			would += fmt.Sprintf(", or -colluders and -absent with a sum of %d or less", n-1)
		case n > 1:
			would += fmt.Sprintf(", or -colluders %d or fewer", n-1)
		}
		return asUsageError(fmt.Errorf("%s: all neighbors of %q (%d) may be among them, and nothing would be left of the noise "+
			"that it shares; what would do: %s", flags, members[lonely], n, would))
	}
	if o.given["pair-sigma"] { // by hand: what is left of it follows from the graph
		var err error
		if known.Privacy.EffectiveSigma, err = known.Privacy.Effective(p.graph); err != nil {
			return asUsageError(err)
		}
	}
	known.Graph = p.graph
	return nil
}

// course returns what the network goes through.
func (p *problem) course() graph.Course {
	m, pr := p.fleet.Method, p.fleet.Privacy
	c := graph.Course{Rounds: m.Rounds, Mixing: m.Mixing, Cooldown: m.Cooldown}
	if pr.PairSigma > 0 {
		c.Shared = pr.PairSigma / pr.Sigma
	}
	return c
}

// coversAll refuses a run that costs more than -limit-all against all other members together.
func (p *problem) coversAll(f *sdk.Fleet) error {
	pr, limit := f.Privacy, p.opt.asked.Privacy.LimitAll
	if !p.opt.given["limit-all"] {
		return nil
	}
	if all := pr.Accounting.Epsilon(f.Total(f.Method.Rounds).All, pr.Delta); all > limit {
		return fmt.Errorf("-limit-all %v: %w: against all other members together the %d rounds cost epsilon %s (%v) at "+
			"delta %v; a smaller -epsilon or a larger -limit-all would do", limit, dpmech.ErrBudget, f.Method.Rounds,
			epsilonText(all), pr.Accounting, pr.Delta)
	}
	return nil
}
