package dpmech

import (
	"errors"
	"math"
	"strings"
	"testing"
)

const unitTime = "2026-01-02T03:04:05Z"

// TestLimitsOfUnits checks that a limit for each record accepts releases of both units, whereas a limit for each client
// accepts only releases that protect each client.
func TestLimitsOfUnits(t *testing.T) {
	id := RunID{Run: "r", Fleet: strings.Repeat("ab", 32), Member: "m"}
	record := Gaussian{Clip: 1, Sigma: 30, Unit: Record}
	client := record
	client.Unit = Client
	for _, limit := range []Unit{Client, Record} {
		c, err := NewComposition("data", unitTime, &Limit{Epsilon: 1, Delta: 1e-5, Unit: limit}, neverUsed)
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range []Gaussian{client, record} {
			_, err := c.Check(id, 1, g)
			whole := c.CheckRun(id, 3, g)
			if want := g.Unit > limit; errors.Is(err, ErrUnit) != want || errors.Is(whole, ErrUnit) != want || !want && err != nil {
				t.Errorf("a limit %v and a release %v: %v, %v", limit.Each(), g.Unit.Each(), err, whole)
			}
		}
	}
	if err := (&Limit{Epsilon: 1, Delta: 1e-5, Unit: 7}).Validate(); err == nil {
		t.Error("a limit of unit 7 is valid")
	}
	if err := (Gaussian{Clip: 1, Sigma: 1, Unit: 7}).Validate(); err == nil {
		t.Error("a release of unit 7 is valid")
	}
	err := newMechanism(t, 1, 1).Release([]float32{1}, record)
	if err == nil || !strings.Contains(err.Error(), "the privacy guarantee is for each record, want a guarantee for each client") {
		t.Errorf("a whole update as a record: %v", err)
	}
	dst := []float32{1}
	if err := newMechanism(t, 1, 1).ReleaseRows(dst, Rows{Factor: 1, Most: 1}, client); err == nil {
		t.Error("rows are released for each client")
	}
}

// TestCertificateOfRecords checks that a certificate names the unit that its releases protect, and that Verify detects
// a change to a stronger unit. The unit of a lifetime with releases of both units must be Record.
func TestCertificateOfRecords(t *testing.T) {
	id := RunID{Run: "r", Fleet: strings.Repeat("ab", 32), Member: "m"}
	g := Gaussian{Clip: 1, Sigma: 30, Unit: Record}
	f, err := NewFilter(&Limit{Epsilon: 1, Delta: 1e-5, Unit: Record})
	if err != nil {
		t.Fatal(err)
	}
	for round := range 5 {
		if err := f.Reserve(round+1, g); err != nil {
			t.Fatal(err)
		}
	}
	if again, err := LoadFilter(f.State()); err != nil || again.Total() != f.Total() || again.Spends()[0].Unit != Record {
		t.Fatalf("the state of a filter loses the unit: %v", err)
	}
	c, err := NewCertificate(About{RunID: id}, 1e-5, f, nil)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(c.Text()), " ")
	for _, want := range []string{"one record of one client", "epsilon 0.", "for each record at delta", "any one record of",
		"the number of records stays the same", "share of each record clipped", "10: ", "a client's whole data set: the guarantee"} {
		if !strings.Contains(text, want) {
			t.Errorf("the text lacks %q:\n%s", want, c.Text())
		}
	}
	forged := *c
	forged.Unit, forged.Adjacency = Client.protected(), Client.adjacency()
	if err := forged.Verify(); err == nil || !strings.Contains(err.Error(), "unit: is") {
		t.Errorf("a certificate for each client of releases for each record: %v", err)
	}
	forged = *c
	forged.Limit = &Limit{Epsilon: 1, Delta: 1e-5}
	if err := forged.Verify(); err == nil || !strings.Contains(err.Error(), "limit: is for each client") {
		t.Errorf("a limit for each client: %v", err)
	}
	life := &Lifetime{Runs: []RunSpend{{Spends: []Spend{{1, 1, Gaussian{Clip: 1, Sigma: 1}}}}, {Spends: f.Spends()}}}
	if life.Unit() != Record {
		t.Errorf("a lifetime with both units is %v, want for each record", life.Unit().Each())
	}
}

// TestSeveralRecords checks a certificate's epsilons for persons with several records. For a person with r records, mu
// must be r times as large as for one record, because replacing r records takes r steps between adjacent data sets.
func TestSeveralRecords(t *testing.T) {
	rho, err := GDP.MaxRho(1, 1e-5)
	if err != nil {
		t.Fatal(err)
	}
	mu := math.Sqrt(2 * rho)
	want := GDP.Epsilon(float64(10*mu)*float64(10*mu)/2, 1e-5)
	if got := GDP.Epsilon(times(100, rho), 1e-5); math.Abs(got-want) > 1e-9 || got < 14.3 || got > 14.5 {
		t.Errorf("ten records at epsilon 1: %v, want %v, about 14.4", got, want)
	}
}
