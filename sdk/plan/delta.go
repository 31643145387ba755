package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
)

// MostDelta is the delta from which on a guarantee says nothing: half of all units could be published.
const MostDelta = 0.5

// Units returns the number of protected units that a guarantee hides among: the records or persons of the member with
// the fewest, or the clients of the fleet.
func Units(f *sdk.Fleet) int {
	if f.Privacy.Unit == dpmech.Record && len(f.Records) > 0 {
		return slices.Min(f.Records)
	}
	return len(f.Members)
}

// WeakDelta explains why an epsilon at delta says little: from one over the number of units on, publishing one of them
// counts as private. It returns "" for a smaller delta. units is 0 if the number is unknown; 1,000 is then assumed.
func WeakDelta(delta float64, unit dpmech.Unit, units int) string {
	n := cmp.Or(units, 1000)
	kind, _, _ := strings.Cut(unit.String(), " ")
	if delta < 1/float64(n) {
		return ""
	}
	among := fmt.Sprintf("the smallest member has %d %ss", n, kind)
	switch {
	case units == 0:
		among = fmt.Sprintf("with %d %ss or more", n, kind)
	case unit == dpmech.Client:
		among = fmt.Sprintf("the fleet has %d clients", n)
	}
	return fmt.Sprintf("delta %v is 1/%d or more, and %s: even publishing all data of one of them, chosen at random, would count as private",
		delta, n, among)
}
