package sdk_test

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/dpmech/explain"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/plan"
	"github.com/spade-dfl/spade-edge/sdk/sim"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/zoest"
)

func recordRing() *sdk.Fleet {
	f := privateRing()
	f.Records = slices.Clone(samples[:5])
	f.Method.Batch, f.Method.Estimator = 0, zoest.Tracking
	f.Privacy = sdk.Privacy{Unit: dpmech.Record, Clip: 0.01, Sigma: 0.1, Delta: 1e-5, EpsilonLimit: 8}
	return f
}

// brittle is an oracle that has no loss for one record. A batch with this record gets no losses at all.
type brittle struct {
	sdk.OracleFunc
	bad int
}

func (o brittle) Losses(ctx context.Context, queries []zoest.Query, losses []float64) (err error) {
	for i, q := range queries {
		if q.Sample == o.bad {
			return errors.New("a batch with record 1 in it has failed")
		}
		losses[i], _ = o.OracleFunc(ctx, q.Point, q.Sample)
	}
	return nil
}

func (o brittle) Loss(ctx context.Context, x []float32, sample int) (float64, error) {
	if sample == o.bad {
		return 0, errors.New("no loss for record 1")
	}
	return o.OracleFunc(ctx, x, sample)
}

// TestNodesProtectRecords checks that nodes with record-level privacy compute the same bits as their simulation. A
// failed batch is repeated record by record, so that one invalid record does not make the losses of other records
// unavailable.
func TestNodesProtectRecords(t *testing.T) {
	t.Parallel()
	f := recordRing()
	all := nodes(t, f, inMemory(t, f), func(i int, c *sdk.Config) {
		ledger, err := state.CreateLedger(filepath.Join(t.TempDir(), "ledger"), "d", dpmech.Record,
			&dpmech.Limit{Epsilon: 8, Delta: 1e-5}, state.NeverUsed)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = ledger.Close() })
		c.Ledger = ledger
		if i == 0 {
			c.Oracle = brittle{oracle(0), 1}
		} else {
			c.Oracle = brittle{oracle(i), -1}
		}
	})
	mustRun(t, all)
	if st := all[0].Status(); st.FailedQueries != int64(8*f.Method.Tau) {
		t.Errorf("%d queries have failed, want those of one record, %d", st.FailedQueries, 8*f.Method.Tau)
	}
	if x := all[0].Model(); slices.ContainsFunc(x, func(x float32) bool { return math.IsNaN(float64(x)) }) {
		t.Errorf("the model is %v", x)
	}
	cert, err := all[1].Certificate()
	if err != nil {
		t.Fatal(err)
	}
	if err := cert.Verify(); err != nil || !strings.Contains(explain.Certificate(cert), "several records") || cert.Unit != "one record of one client" {
		t.Errorf("certificate of %q: %v", cert.Unit, err)
	}
	if cert.Lifetime == nil || cert.Lifetime.Unit != dpmech.Record {
		t.Error("the ledger does not name the unit")
	}
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
	var err error
	if cfg.Ledger, err = state.CreateLedger(filepath.Join(t.TempDir(), "ledger"), "d", dpmech.Client, &dpmech.Limit{Epsilon: 8, Delta: 1e-5}, state.NeverUsed); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cfg.Ledger.Close() }()
	if _, err := sdk.New(cfg); !errors.Is(err, dpmech.ErrUnit) || !strings.Contains(err.Error(), `delete it and create it again with the unit "record"`) {
		t.Errorf("a ledger for each client: %v", err)
	}
}

// TestSuggestRecords checks that a suggestion for record-level privacy depends only on public numbers, fits its budget,
// and is a valid fleet.
func TestSuggestRecords(t *testing.T) {
	for _, epsilon := range []float64{0.5, 1, 8} {
		f := recordRing()
		f.Method, f.Privacy = sdk.Method{}, sdk.Privacy{Unit: dpmech.Record, EpsilonLimit: epsilon}
		var err error
		f.Method, f.Privacy, err = plan.Suggest(plan.Known{Dim: f.Dim, Samples: f.Records, Method: f.Method, Privacy: f.Privacy, Open: true})
		if err == nil {
			_, err = f.Plan()
		}
		if err != nil {
			t.Fatal(err)
		}
		spent := f.Privacy.Accounting.Epsilon(f.Total(f.Method.Rounds).Rho, f.Privacy.Delta)
		if spent > epsilon || spent < 0.999*epsilon || f.Method.Tau > 64 || f.Method.Estimator != zoest.Tracking {
			t.Errorf("epsilon %v for %v, %d queries, %v", spent, epsilon, f.Method.Tau, f.Method.Estimator)
		}
		forecast, err := plan.Forecast(f, 0)
		if err != nil || forecast.Signal <= 0 {
			t.Errorf("forecast %+v: %v", forecast, err)
		}
	}
}
