package dpmech

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
)

func checkpointRun(run string) RunID {
	return RunID{Run: run, Fleet: strings.Repeat("ab", 32), Member: "a"}
}

// TestCheckpoint checks that a checkpoint has two costs: the planned cost of its own run, no matter how many rounds of
// this run are complete, and the cost of the other runs, including the planned cost of every run that is not over.
// Parsing must return the encoded checkpoint.
func TestCheckpoint(t *testing.T) {
	c, err := NewComposition("d", "2025-01-02T03:04:05Z", &Limit{Epsilon: 8, Delta: 1e-5, Accounting: GDP})
	if err != nil {
		t.Fatal(err)
	}
	g := Gaussian{Clip: 1, Sigma: 20}
	shared := Gaussian{Clip: 1, Sigma: 20, Shared: Shared{Sigma: 80, Effective: 60, Colluders: 2, Absent: 1}}
	record := Gaussian{Clip: 1, Sigma: 30, Unit: Record}
	for _, r := range []struct {
		run    string
		rounds int
		g      Gaussian
	}{{"over", 7, g}, {"open", 2, shared}, {"this", 3, g}} {
		for round := 1; round <= r.rounds; round++ {
			if err := c.Add(checkpointRun(r.run), round, r.g); err != nil {
				t.Fatal(err)
			}
		}
	}
	c.Plan(checkpointRun("open"), 10, shared)
	c.Plan(checkpointRun("not begun"), 4, record)
	check := c.Plan(checkpointRun("this"), 50, g)
	want := g.Total(7).plus(record.Total(4)).plus(shared.Total(10))
	if got := check.Elsewhere; math.Abs(got.Rho-want.Rho) > 1e-12 || math.Abs(got.All-want.All) > 1e-12 ||
		got.Against == nil || *got.Against != (Colluders{2, 1}) || got.Unit != Record {
		t.Errorf("elsewhere %+v, want %+v", got, want)
	}
	if got := check.Run.Total(); got != g.Total(50) {
		t.Errorf("this run %+v, want %+v", got, g.Total(50))
	}
	back, err := ParseCheckpoint(check.Encode())
	if err != nil || !reflect.DeepEqual(back, check) || len(check.Encode()) > MaxCheckpoint {
		t.Errorf("read %+v, %v, want %+v", back, err, check)
	}
	if whole := check.Whole(); whole.All < want.All+g.Total(50).All || whole.Unit != Record {
		t.Errorf("the whole is %+v", whole)
	}
	for name, text := range map[string]string{
		"no JSON": "{", "unknown": `{"limit":null,"elsewhere":{"rho":0,"rho_all":0},"run":{"rho":0,"rho_all":0},"x":1}`,
		"negative":      `{"limit":null,"elsewhere":{"rho":-1,"rho_all":0},"run":{"rho":0,"rho_all":0}}`,
		"less than rho": `{"limit":null,"elsewhere":{"rho":2,"rho_all":1},"run":{"rho":0,"rho_all":0}}`,
		"beyond":        `{"limit":null,"elsewhere":{"rho":0,"rho_all":1e9},"run":{"rho":0,"rho_all":0}}`,
		"limit":         `{"limit":{"epsilon":-1,"delta":1e-5,"accounting":"gdp"},"elsewhere":{"rho":0,"rho_all":0},"run":{"rho":0,"rho_all":0}}`,
		"long":          strings.Repeat(" ", MaxCheckpoint+1),
	} {
		if c, err := ParseCheckpoint([]byte(text)); err == nil {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

// TestInherit checks that an inherited cost is included in every total and counts toward the limit, once for each lost
// ledger. If the inherited cost protects only records, a limit that protects clients must refuse all further releases.
func TestInherit(t *testing.T) {
	limit := &Limit{Epsilon: 8, Delta: 1e-5, Accounting: GDP}
	lost := strings.Repeat("0f", 16)
	g := Gaussian{Clip: 1, Sigma: 40}
	for _, unit := range []Unit{Client, Record} {
		c, err := NewComposition("d", "2025-01-02T03:04:05Z", limit)
		if err != nil {
			t.Fatal(err)
		}
		fits := func() int { return mostRounds(c, g) }
		before := fits()
		for _, rho := range []float64{0.2, 0.1, 0.25, 0.25} {
			more := c.Unknown(lost, Amount{Rho: rho, All: rho, Unit: unit})
			if more == (Amount{}) {
				continue
			}
			if err := c.Inherit(Inherited{Ledger: lost, Member: "b", Limit: limit, Amount: more}); err != nil {
				t.Fatal(err)
			}
		}
		life := c.Lifetime(Head{}, 1e-5)
		if len(life.Inherited) != 2 || life.Rho < 0.25 || life.Rho > 0.25*(1+1e-12) || life.Unit() != unit {
			t.Errorf("%v: %+v", unit, life)
		}
		err = c.CheckRun(checkpointRun("r"), 1, g)
		switch {
		case unit == Client && (err != nil || fits() >= before || fits() == 0):
			t.Errorf("%d rounds fit, and %d before: %v", fits(), before, err)
		case unit == Record && !(errors.Is(err, ErrUnit) && errors.Is(err, ErrBudget)):
			t.Errorf("a limit for each client accepts releases beside a cost for each record: %v", err)
		}
	}
	// A second entry without additional cost still changes the unit.
	c, err := NewComposition("d", "2025-01-02T03:04:05Z", limit)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range []Amount{{Rho: 0.1, All: 0.1}, {Rho: 0.05, All: 0.05, Unit: Record}} {
		if err := c.Inherit(Inherited{Ledger: lost, Member: "b", Amount: c.Unknown(lost, a)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.CheckRun(checkpointRun("r"), 1, g); !errors.Is(err, ErrUnit) {
		t.Errorf("a smaller cost for each record is forgotten: %v", err)
	}
	if c, err = NewComposition("d", "2025-01-02T03:04:05Z", nil); err != nil {
		t.Fatal(err)
	}
	for name, in := range map[string]Inherited{
		"id":     {Ledger: "0f", Member: "b"},
		"member": {Ledger: lost},
		"limit":  {Ledger: lost, Member: "b", Limit: &Limit{}},
		"amount": {Ledger: lost, Member: "b", Amount: Amount{Rho: 2, All: 1}},
		"beyond": {Ledger: lost, Member: "b", Amount: Amount{All: maxSpend * 2}},
	} {
		if err := c.Inherit(in); err == nil {
			t.Errorf("%s: %+v was inherited", name, in)
		}
	}
}

func mostRounds(c *Composition, g Gaussian) (n int) {
	for c.CheckRun(checkpointRun("r"), n+1, g) == nil {
		n++
	}
	return n
}

func FuzzParseCheckpoint(f *testing.F) {
	f.Add([]byte(`{"limit":null,"elsewhere":{"rho":0,"rho_all":0.5},"run":{"rho":0,"rho_all":0}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := ParseCheckpoint(text)
		if err != nil {
			return
		}
		if back, err := ParseCheckpoint(c.Encode()); err != nil || !reflect.DeepEqual(back, c) {
			t.Errorf("%+v, %v, want %+v", back, err, c)
		}
	})
}
