package plan

import (
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
)

// TestWeakDelta checks that a delta is too large from one over the number of units of the smallest member on.
func TestWeakDelta(t *testing.T) {
	record, client, person := sdk.Privacy{Unit: dpmech.Record}, sdk.Privacy{}, sdk.Privacy{Unit: dpmech.Record, Places: 4, Person: "pid"}
	for _, c := range []struct {
		privacy sdk.Privacy
		records []int
		most    float64 // the smallest delta that is too large
		want    string
	}{
		{record, []int{1600, 800, 900}, 1. / 800, "the smallest member has 800 records"},
		{person, []int{1600, 800, 900}, 1. / 800, "the smallest member has 800 persons"},
		{client, nil, 1. / 3, "the fleet has 3 clients"},
	} {
		f := &sdk.Fleet{Members: []string{"a", "b", "c"}, Privacy: c.privacy, Records: c.records}
		if got := WeakDelta(c.most, c.privacy.Protects(), Units(f)); !strings.Contains(got, c.want) {
			t.Errorf("%q, want %q", got, c.want)
		}
		if got := WeakDelta(c.most*0.999, c.privacy.Protects(), Units(f)); got != "" {
			t.Errorf("a smaller delta: %q", got)
		}
	}
	if WeakDelta(0.001, dpmech.Record, 0) == "" || WeakDelta(0.00099, dpmech.Record, 0) != "" {
		t.Error("an unknown number of units is not taken as 1,000")
	}
}
