package setup

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/verdict"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task"
	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/graph"
	"github.com/spade-dfl/spade-edge/sdk/plan"
	"github.com/spade-dfl/spade-edge/sdk/topology"
)

// members returns the names of the members.
func (o *Options) members() []string {
	names := o.Names
	for i := len(names); i < o.Nodes; i++ {
		names = append(names, "node-"+strconv.Itoa(i))
	}
	return names
}

// MakeFleet creates the fleet and fills in suggested values for unset parts of the method. dim is the number of the
// model's parameters.
func (p *Problem) MakeFleet(name string, dim int) error {
	o := &p.Opt
	f := &sdk.Fleet{Run: name, Dim: dim, X0: p.X0, Members: o.members(), Wire: o.Asked.Wire}
	for _, e := range p.Graph.Edges() {
		f.Edges = append(f.Edges, [2]string{f.Members[e[0]], f.Members[e[1]]})
	}
	known := o.Known(dim, p.Samples)
	known.Columns, known.Uneven = p.features()
	known.Rare = o.Spec.Kind() == task.OfSurvival
	if pr := &known.Privacy; pr.Places > 1 && pr.Person == "" { // plan has no data
		if pr.Person = cmp.Or(o.Spec.Person, "COLUMN"); o.Recipe != nil {
			pr.Person = o.Recipe.Person
		}
	}
	if known.Method.Rounds == 0 && known.Privacy.NonPrivate && known.Rare {
		known.Method.Rounds = verdict.SurvivalRounds
	}
	err := p.shareNoise(&known, f.Members)
	if err != nil {
		return err
	}
	f.Method, f.Privacy, err = plan.Suggest(known)
	if near := o.ModelSpec().Name == task.LinearModel || known.Rare && !known.Privacy.NonPrivate; err == nil && near && !o.Given["mu"] {
		// With a larger query radius, predictions of a numeric target would reach the ends of the target's range, and the
		// slopes of survival would be less exact (see sdk/DEFAULTS.md).
		known.Method.Mu = []float64{f.Method.Mu[0] / 2}
		f.Method, f.Privacy, err = plan.Suggest(known)
	}
	if err != nil {
		return AsUsage(err)
	}
	if o.Given["directions"] {
		f.Method.Directions = o.Asked.Method.Directions
	}
	if f.Privacy.Unit == dpmech.Record {
		for _, samples := range p.Samples {
			f.Records = append(f.Records, samples/max(1, f.Privacy.Places))
		}
	}
	p.Fleet = f
	if o.HiddenLayer() {
		p.Choose("hidden", o.ModelSpec().Hidden)
	}
	if !f.Privacy.NonPrivate && !o.Given["sigma"] {
		p.Choose("epsilon", o.Asked.Privacy.EpsilonLimit)
	}
	p.chooseSettings()
	if p.Plan, err = f.PlanOn(p.Graph); err != nil {
		return AsUsage(err)
	}
	return CoversAll(f)
}

// features returns public facts about a model's features: whether each parameter is the weight of one table column, and
// whether features are pixels or principal components. For the model of an external program, both results are false.
func (p *Problem) features() (columns, uneven bool) {
	o := &p.Opt
	if p.Set == nil && o.Recipe == nil {
		return false, false
	}
	uneven = o.Spec.PCA > 0 || o.Recipe != nil && o.Recipe.PCA != nil || strings.HasPrefix(o.Spec.Source, "idx:")
	return !uneven && !o.HiddenLayer(), uneven
}

func (o *Options) sharingConflicts(f *cli.Faults) {
	for _, name := range []string{"pair-sigma", "limit-all", "absent", "partners"} {
		f.When(o.Given[name] && !o.Given["colluders"], "-%s needs -colluders, the number of colluding members that -epsilon protects "+
			"against: only then do neighbors share noise", name)
	}
	f.When(o.Given["colluders"] && o.Given["sigma"] != o.Given["pair-sigma"],
		"-colluders needs either -epsilon, or both -sigma and -pair-sigma")
}

// shareNoise sets up pairwise noise if requested. It fails if a member has so few noise partners that all of its
// partners may collude or disappear.
func (p *Problem) shareNoise(known *plan.Known, members []string) error {
	o := &p.Opt
	if !o.Given["colluders"] {
		return nil
	}
	noise, err := p.widest()
	if err != nil {
		return AsUsage(err)
	}
	known.Graph = p.Graph
	pr := &o.Asked.Privacy
	switch {
	case o.Collude < 0:
		if pr.Colluders, err = plan.MostColluders(*known); err != nil {
			return cli.Usage("-colluders auto: %w", err)
		}
	case o.Collude > 0:
		// Round up, so that the guarantee covers at least the requested fraction.
		pr.Colluders = (o.Collude*len(members) + o.colludeOf - 1) / o.colludeOf
	}
	p.Choose("colluders", pr.Colluders)
	known.Privacy.Colluders = pr.Colluders
	lonely := loneliest(noise)
	if n := len(noise.Neighbors(lonely)); n <= pr.Colluders+pr.Absent {
		flags := fmt.Sprintf("-colluders %d", pr.Colluders)
		if pr.Absent > 0 {
			flags += fmt.Sprintf(" and -absent %d", pr.Absent)
		}
		return cli.Usage("%s: %q shares noise with too few members (%d): if all of them collude or vanish, no pairwise noise is left; "+
			"use more partners (-partners or -graph), or fewer colluders or absent members", flags, members[lonely], n)
	}
	if o.Given["pair-sigma"] { // with manual noise, the graph determines the effective sigma
		if known.Privacy.EffectiveSigma, err = plan.Effective(known.Privacy, noise); err != nil {
			return cli.AsUsageError(err)
		}
	}
	return nil
}

// widest returns the graph whose edges are the pairs of members that share noise. If neither -partners nor -sigma is
// given, every pair of members shares noise, unless the fleet has too many members for a complete graph.
func (p *Problem) widest() (*graph.Graph, error) {
	o, n := &p.Opt, p.Graph.N()
	partners := o.Asked.Privacy.Partners
	if !o.Given["partners"] && !o.Given["sigma"] && n > 3 && n <= graph.MaxPartnered {
		partners = n - 1
	}
	noise, err := p.Graph.Partners(partners, o.Asked.Method.Seed)
	if err != nil {
		err = fmt.Errorf("-partners is %d, want a regular graph of %d members: %w", partners, n, err)
	}
	return noise, err
}

// Schedule returns the run's schedule of learning, mixing and cool-down rounds, including the noise partners.
func (p *Problem) Schedule() topology.Schedule {
	m, pr := p.Fleet.Method, p.Fleet.Privacy
	c := topology.Schedule{Rounds: m.Rounds, Mixing: m.Mixing, Cooldown: m.Cooldown}
	if pr.PairSigma > 0 {
		c.Shared = pr.PairSigma / pr.Sigma
		c.Partners, _ = p.Plan.Graph().Partners(pr.Partners, m.Seed) // the plan has made them
	}
	return c
}

// CoversAll returns an error if the privacy cost of a run against all other members together exceeds the fleet's limit.
func CoversAll(f *sdk.Fleet) error {
	p := f.Privacy
	if all := p.Accounting.Epsilon(f.Total(f.Method.Rounds).All, p.Delta); p.LimitAll > 0 && all > p.LimitAll {
		return fmt.Errorf("%d rounds: %w: epsilon against all other members together is %s at delta %v (%v "+
			"accounting), but -limit-all is %v: lower -epsilon or -rounds, or raise the limit (epsilon_limit_all in a "+
			"fleet file)", f.Method.Rounds, dpmech.ErrBudget, cli.EpsilonText(all), p.Delta, p.Accounting, p.LimitAll)
	}
	return nil
}
