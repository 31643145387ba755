package setup

import (
	"fmt"
	"math"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
)

// BadMembers says, from public numbers, what one malicious member can do in a run and how to prevent it; nothing if it
// cannot do much, or if there is nobody else. sdk/ROBUST.md has the figures behind it.
func BadMembers(f *sdk.Fleet) string {
	g, err := f.Graph()
	if err != nil || len(f.Members) < 3 {
		return ""
	}
	least := len(f.Members)
	for i := range f.Members {
		least = min(least, len(g.Neighbors(i)))
	}
	p, sparse := f.Privacy, least < 5 && least < len(f.Members)-1
	switch {
	case f.Method.Robust == 0 && sparse:
		return "one malicious member can spoil the model; -robust would cost an honest run accuracy, since members have " +
			"few neighbors"
	case f.Method.Robust == 0:
		return "one malicious member can spoil the model; -robust 1.5 bounds the damage"
	case p.PairSigma > 0 && len(f.Members) < 10:
		return fmt.Sprintf("one malicious member of %d can spoil the model in spite of -robust: it can hide in the noise "+
			"that neighbors share; do not use -colluders, or have more members", len(f.Members))
	case !p.NonPrivate && hidden(f) > 0.2:
		return fmt.Sprintf("a malicious member that stays within the usual noise can still move the model by %.0f %% of what all "+
			"others learn; a larger epsilon, -unit record or more members help", 100*min(1, hidden(f)))
	case sparse:
		return fmt.Sprintf("-robust costs an honest run accuracy where a member has only %d neighbors; 5 are enough", least)
	}
	return ""
}

// hidden returns how far a member can move the model within the length of its own noise, as a share of what all others
// do.
func hidden(f *sdk.Fleet) float64 {
	p, k := f.Privacy, float64(f.Method.Rounds)
	reach := p.Clip
	if p.Unit == sdk.UnitRecord {
		reach *= admm.NewRecords(f.Records, 1).Mean
	}
	return p.Sigma * math.Sqrt(k*float64(f.Dim)) / (float64(len(f.Members)-1) * k * reach)
}
