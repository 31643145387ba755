package monitor

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
)

// TestPrivacyOfRecords checks that the status and the metrics of a run name the unit of privacy if the run, or another
// run in the same ledger, protects each record.
func TestPrivacyOfRecords(t *testing.T) {
	record := dpmech.Spend{First: 1, Rounds: 7, Gaussian: dpmech.Gaussian{Clip: 1, Sigma: 80, Unit: dpmech.Record}}
	life := &dpmech.Lifetime{Runs: []dpmech.RunSpend{{Spends: []dpmech.Spend{record}}}}
	show := func(unit sdk.Unit, life *dpmech.Lifetime) string {
		f := &sdk.Fleet{Method: sdk.Method{Rounds: 10}, Privacy: sdk.Privacy{Unit: unit, Clip: 1, Sigma: 80, Delta: 1e-5}}
		st := NewStatus(f, "a")
		st.Privacy = NewPrivacy(f, f.Total(4), life)
		object, err := json.Marshal(st)
		if err != nil {
			t.Fatal(err)
		}
		return string(object) + "\n" + string(Metrics(st))
	}
	const labels = `{run="",node="a",adversary="everybody else together",unit="record"}`
	each := show(sdk.UnitRecord, life)
	for _, want := range []string{`"unit":"record"`, "\nspade_edge_epsilon" + labels, "\nspade_edge_lifetime_epsilon" + labels} {
		if !strings.Contains(each, want) {
			t.Errorf("no %q in %s", want, each)
		}
	}
	if plain := show(sdk.UnitClient, nil); strings.Contains(plain, "unit") {
		t.Errorf("a run for each client: %s", plain)
	}
	mixed := show(sdk.UnitClient, life)
	if !strings.Contains(mixed, "\nspade_edge_lifetime_epsilon"+labels) || strings.Contains(mixed, "\nspade_edge_epsilon"+labels) {
		t.Errorf("a ledger with both: %s", mixed)
	}
}
