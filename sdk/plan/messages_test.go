package plan_test

import (
	"slices"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/plan"
	"github.com/spade-dfl/spade-edge/sdk/topology"
)

// TestRoundsOfMessages checks that a private run with default settings needs few message rounds for 50 learning rounds.
// With -v it prints two numbers of message rounds for the table in sdk/DEFAULTS.md: one with default settings, and one
// without partners.
func TestRoundsOfMessages(t *testing.T) {
	for _, c := range []struct {
		graph         string
		members, most int
	}{{"ring", 31, 350}, {"er:0.3", 31, 250}, {"grid:5x6", 30, 300}, {"complete", 10, 150}, {"ring", 100, 400}, {"er:0.05", 200, 250}} {
		g, err := topology.Parse(c.graph, c.members, 1)
		if err != nil {
			t.Fatal(err)
		}
		rounds := func(fixed ...string) int {
			m, _, err := plan.Suggest(plan.Known{Dim: 40, Samples: slices.Repeat([]int{100}, c.members), Graph: g, Open: true, Fixed: fixed,
				Privacy: sdk.Privacy{EpsilonLimit: 8, Colluders: 1}})
			if err != nil {
				t.Fatal(err)
			}
			return m.Last()
		}
		alone, found := rounds("privacy.partners"), rounds()
		t.Logf("%s, N = %d: %d rounds without partners, %d by default", c.graph, c.members, alone, found)
		if found > c.most {
			t.Errorf("%s, N = %d: %d rounds of messages, want at most %d", c.graph, c.members, found, c.most)
		}
	}
}
