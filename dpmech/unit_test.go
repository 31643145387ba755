package dpmech

import (
	"errors"
	"strings"
	"testing"
)

var (
	visits = Person(5, "pid")
	every  = []Unit{Client, Record, visits, Person(4, "pid"), Person(5, "mother")}
)

func TestUnitText(t *testing.T) {
	for _, u := range append(every, Person(2, " a of column b) (up to 3 rows"), Person(1<<16, strings.Repeat("é", 50))) {
		text, err := u.MarshalText()
		var back Unit
		if err := errors.Join(err, back.UnmarshalText(text)); err != nil || back != u || string(text) != u.String() {
			t.Errorf("%q becomes %q: %v", u, back, err)
		}
	}
	if got := visits.Each(); got != "for each person (up to 5 rows of column pid)" {
		t.Error(got)
	}
	for _, text := range []string{"row", "Record", "person", "person (up to 5 rows of column )", string(Person(1, "pid")),
		string(Person(1<<16+1, "pid")), "person (up to 05 rows of column pid)", "person (up to 5 rows of column pid",
		string(Person(5, "a\nb")), string(Person(5, strings.Repeat("a", 101)))} {
		if u := new(Unit); u.UnmarshalText([]byte(text)) == nil {
			t.Errorf("%q is a unit", text)
		}
		if (Gaussian{Clip: 1, Sigma: 1, Unit: Unit(text)}).Validate() == nil {
			t.Errorf("a release protects each %q", text)
		}
	}
}

// TestUnitsDoNotMix checks that a run protects one unit.
func TestUnitsDoNotMix(t *testing.T) {
	f := new(filter)
	if err := errors.Join(f.Reserve(1, Gaussian{Clip: 1, Sigma: 30, Unit: Record}), f.Reserve(2, Gaussian{Clip: 1, Sigma: 30})); !errors.Is(err, ErrUnit) {
		t.Errorf("a run with two units: %v", err)
	}
}
