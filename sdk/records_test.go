package sdk_test

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/sim"
	"github.com/spade-dfl/spade-edge/zoest"
)

func recordRing() *sdk.Fleet {
	f := privateRing()
	f.Records = slices.Clone(samples[:5])
	f.Method.Batch, f.Method.Estimator = 0, zoest.Tracking
	f.Privacy = sdk.Privacy{Unit: dpmech.Record, Clip: 0.01, Sigma: 0.1, Delta: 1e-5, EpsilonLimit: 8}
	return f
}

// TestPersonsFleet checks a fleet whose units are persons, each with two places: it must count persons but query each
// place.
func TestPersonsFleet(t *testing.T) {
	f := recordRing()
	f.Privacy.Places, f.Privacy.Person = 2, "pid"
	if got := f.Privacy.Gaussian().Unit; got != dpmech.Person(2, "pid") {
		t.Errorf("a release protects each %v", got)
	}
	cfg := sdk.Config{Fleet: f, Name: "b", Samples: 5, Oracle: oracle(1), Transport: inMemory(t, f)[1]}
	if _, err := sdk.New(cfg); err == nil || !strings.Contains(err.Error(), `want 10, 2 places for each of the 5 persons of "b"`) {
		t.Errorf("too few samples: %v", err)
	}
	cfg.Samples = 12
	if _, err := sdk.New(cfg); err == nil || !strings.Contains(err.Error(), `the data of "b" has 6 persons, the fleet says 5`) {
		t.Errorf("another person: %v", err)
	}
	double := slices.Clone(samples[:5])
	for i := range double {
		double[i] *= 2
	}
	cfgs, err := sim.Machines(f, double, noise)
	if err != nil || cfgs[1].Estimator.Samples != 10 || cfgs[1].Records.Places != 2 || cfgs[1].Records.Mean != 5.4 {
		t.Errorf("%+v: %v", cfgs, err)
	}
	for person, want := range map[string]string{"": "the column that names", "a\nb": "at most 100 printable bytes"} {
		f.Privacy.Person = person
		if _, err := f.Plan(); err == nil || !strings.Contains(err.Error(), "privacy.person is "+strconv.Quote(person)+", want "+want) {
			t.Errorf("%q: %v", person, err)
		}
	}
	f.Privacy.Unit, f.Privacy.Person, f.Records = dpmech.Client, "pid", nil
	if _, err := f.Plan(); err == nil || !strings.Contains(err.Error(), "privacy.places is 2, want 0") {
		t.Errorf("places without record-level privacy: %v", err)
	}
}

func TestRecordFleetFaults(t *testing.T) {
	for want, change := range map[string]func(f *sdk.Fleet){
		"records is a list of 0 numbers, want the number of records of each of the 5 members": func(f *sdk.Fleet) { f.Records = nil },
		"records[2] is 0, want a whole number":                                                func(f *sdk.Fleet) { f.Records[2] = 0 },
		"records is [7 5 2 9 4], want none, because privacy.unit is client":                   func(f *sdk.Fleet) { f.Privacy.Unit = dpmech.Client },
		"method.batch is 3, want 0, because privacy.unit is record":                           func(f *sdk.Fleet) { f.Method.Batch = 3 },
		"method.momentum is 0.5, want 0, because privacy.unit is record":                      func(f *sdk.Fleet) { f.Method.Momentum = 0.5 },
	} {
		f := recordRing()
		change(f)
		if _, err := f.Plan(); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, want one error with %q", err, want)
		}
	}
	f := recordRing()
	cfg := sdk.Config{Fleet: f, Name: "b", Samples: 6, Oracle: oracle(1), Transport: inMemory(t, f)[1]}
	if _, err := sdk.New(cfg); err == nil || !strings.Contains(err.Error(), `the data of "b" has 6 records, the fleet says 5`) {
		t.Errorf("another number of records: %v", err)
	}
	if _, err := sim.Machines(f, []int{7, 5, 2, 9, 5}, noise); err == nil || !strings.Contains(err.Error(), `the data of "e" has 5 records, the fleet says 4`) {
		t.Errorf("another number of records in a simulation: %v", err)
	}
	cfg.Samples = 5
	_, cfg.Ledger = newLedger(t, &dpmech.Limit{Epsilon: 8, Delta: 1e-5})
	defer cfg.Ledger.Close()
	if _, err := sdk.New(cfg); !errors.Is(err, dpmech.ErrUnit) || !strings.Contains(err.Error(), `delete it and create it again with the unit "record"`) {
		t.Errorf("a ledger for each client: %v", err)
	}
}
