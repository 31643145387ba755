package setup

import (
	"fmt"
	"math"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/graph"
)

// BadMembers describes, based on public parameters, what one malicious member can do in a run and how to prevent it. It
// returns "" if such a member can do little, or if the fleet has only one member. The numbers come from sdk/ROBUST.md.
func BadMembers(f *sdk.Fleet) string {
	g, err := f.Graph()
	if err != nil || len(f.Members) < 3 {
		return ""
	}
	least, p := len(g.Neighbors(loneliest(g))), f.Privacy
	client := !p.NonPrivate && p.Unit == sdk.UnitClient
	sparse := least < len(f.Members)-1 && (least < 5 || least < 8 && !client)
	switch {
	case f.Method.Robust == 0 && p.PairSigma > 0 && len(f.Members) >= 20 && !sparse:
		return "one malicious member can spoil the model; -robust is off: with noise that neighbors share it needs more rounds of " +
			"messages; -robust 2 bounds the damage"
	case f.Method.Robust == 0 && p.PairSigma > 0:
		return "one malicious member can spoil the model; -robust is off: with noise that neighbors share it costs an honest run " +
			"accuracy and rounds, and a malicious member can still hide in that noise"
	case f.Method.Robust == 0 && sparse:
		return fmt.Sprintf("one malicious member can spoil the model; -robust is off: it would cost an honest run accuracy, since a "+
			"member has only %d neighbors", least)
	case f.Method.Robust == 0:
		return "one malicious member can spoil the model; -robust is off; -robust 2 bounds the damage, and costs up to a point of " +
			"accuracy in a small fleet"
	case p.PairSigma > 0 && len(f.Members) < 20:
		return fmt.Sprintf("one malicious member of %d can spoil the model in spite of -robust: it can hide in the noise "+
			"that neighbors share; add members, or do not use -colluders", len(f.Members))
	case !p.NonPrivate && hidden(f) > 0.2:
		return fmt.Sprintf("a malicious member that stays within the usual noise can still move the model by %.0f %% of what all "+
			"others learn; a larger epsilon, -unit record or more members help", 100*min(1, hidden(f)))
	case sparse:
		return fmt.Sprintf("-robust costs an honest run accuracy where a member has only %d neighbors", least)
	}
	return ""
}

// loneliest returns a member with the smallest number of neighbors.
func loneliest(g *graph.Graph) (lonely int) {
	for i := range g.N() {
		if len(g.Neighbors(i)) < len(g.Neighbors(lonely)) {
			lonely = i
		}
	}
	return lonely
}

// hidden returns how far a malicious member can move the model if the norm of its contribution to the whole run is no
// larger than that of an honest member's local noise. The result is a fraction of the distance by which all other
// members together can move the model.
func hidden(f *sdk.Fleet) float64 {
	p, k := f.Privacy, float64(f.Method.Rounds)
	reach := p.Clip
	if p.Unit == sdk.UnitRecord {
		reach *= admm.NewRecords(f.Records, 1).Mean
	}
	return p.Sigma * math.Sqrt(k*float64(f.Dim)) / (float64(len(f.Members)-1) * k * reach)
}
