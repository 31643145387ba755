package monitor

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/dpmech/certificate"
	"github.com/spade-dfl/spade-edge/sdk"
)

// TestPrivacyNamesItsUnit checks that the status and the metrics of a run name what the run and its ledger protect, in the
// same words, and that those of a run for each client name no unit.
func TestPrivacyNamesItsUnit(t *testing.T) {
	show := func(places int, unit, ledger dpmech.Unit) string {
		f := &sdk.Fleet{Method: sdk.Method{Rounds: 10}, Privacy: sdk.Privacy{Unit: unit, Places: places, Person: "pid", Clip: 1, Sigma: 80, Delta: 1e-5}}
		st := NewStatus(f, "a", new(sdk.Status))
		st.Privacy = NewPrivacy(f, f.Total(4), &certificate.Lifetime{Unit: ledger})
		object, err := json.Marshal(st)
		if err != nil {
			t.Fatal(err)
		}
		return string(object) + "\n" + string(Metrics(st))
	}
	for _, c := range []struct {
		places       int
		unit, ledger dpmech.Unit
		run, life    string
	}{
		{0, dpmech.Record, dpmech.Record, "record", "record"},
		{4, dpmech.Record, dpmech.Person(4, "pid"), "person (up to 4 rows of column pid)", "person (up to 4 rows of column pid)"},
		{0, dpmech.Client, dpmech.Record, "", "record"},
		{0, dpmech.Client, dpmech.Client, "", ""},
	} {
		text := show(c.places, c.unit, c.ledger)
		for name, unit := range map[string]string{"epsilon": c.run, "lifetime_epsilon": c.life} {
			want := "\nspade_edge_" + name + `{run="",node="a",adversary="everybody else together"`
			if unit != "" {
				want += `,unit="` + unit + `"`
				if !strings.Contains(text, `"unit":"`+unit+`"`) {
					t.Errorf("no unit %q in %s", unit, text)
				}
			}
			if !strings.Contains(text, want+"}") {
				t.Errorf("no %q in %s", want, text)
			}
		}
		if c.life == "" && strings.Contains(text, "unit") {
			t.Errorf("a run for each client: %s", text)
		}
	}
}
