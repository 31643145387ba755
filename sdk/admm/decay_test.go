package admm

import (
	"math"
	"slices"
	"testing"
)

// Steps that fall by a rule are those of the list that says the same, and the rule's numbers are the same bits on every
// processor.
func TestDecayIsAList(t *testing.T) {
	rule := configs(4, kite, func(_ int, c *Config) { c.Eta, c.Decay = Schedule{0.5}, 0.3 })
	list := configs(4, kite, func(_ int, c *Config) {
		c.Eta = nil
		for k := range c.Rounds {
			c.Eta = append(c.Eta, rule[0].Step(k))
		}
	})
	for k, eta := range list[0].Eta {
		if want := 0.5 * math.Pow(float64(k+1), -0.3); math.Abs(eta-want) > 1e-15 {
			t.Errorf("step of round %d is %v, want %v", k, eta, want)
		}
	}
	if got := math.Float64bits(rule[0].Step(4)); got != 0x3fd3bebdcc9d061b {
		t.Errorf("step of round 4 has the bits %#x", got)
	}
	a, b := newNetwork(t, rule), newNetwork(t, list)
	for range rule[0].Last() {
		for _, net := range []*network{a, b} {
			if err := net.round(); err != nil {
				t.Fatal(err)
			}
		}
		for i := range a.machines {
			if !slices.Equal(a.machines[i].x, b.machines[i].x) {
				t.Fatalf("models of client %d differ", i)
			}
		}
	}
}
