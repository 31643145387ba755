package plan_test

import (
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/plan"
)

// clique returns a private fleet of n members on a complete graph.
func clique(n int, change func(f *sdk.Fleet)) *sdk.Fleet {
	f := &sdk.Fleet{
		Run: "forecast", Dim: 6,
		Method:  sdk.Method{Rounds: 50, Cooldown: 30, Tau: 2, Rho: 1, Gain: 0.75, Eta: []float64{0.1}, Mu: []float64{0.3}},
		Privacy: sdk.Privacy{Clip: 0.045, Sigma: 0.381984, Delta: 1e-5},
	}
	for i := range n {
		f.Members = append(f.Members, strconv.Itoa(i))
		for j := range i {
			f.Edges = append(f.Edges, [2]string{f.Members[j], f.Members[i]})
		}
	}
	if change != nil {
		change(f)
	}
	return f
}

// TestForecastIntervals checks that nine of ten runs in .ci/validate/forecast.csv had a gain within the forecast
// interval, for each unit, and for records at each order of magnitude of the signal. The table in the code was fitted to
// other runs of that file.
func TestForecastIntervals(t *testing.T) {
	t.Parallel()
	file, err := os.Open("../../.ci/validate/forecast.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	units := map[string]dpmech.Unit{"client": dpmech.Client, "record": dpmech.Record}
	all, inside := map[string]int{}, map[string]int{}
	for _, line := range lines[1:] {
		value, text := map[string]float64{}, map[string]string{}
		for i, name := range lines[0] {
			text[name] = line[i]
			value[name], _ = strconv.ParseFloat(line[i], 64) // a field that is no number becomes 0
		}
		if text["part"] == "fit" {
			continue
		}
		unit, signal := text["unit"], value["signal"]
		low, _, high := plan.GainAt(units[unit], signal)
		gain := (value["accuracy"] - value["majority"]) / (value["free"] - value["majority"])
		of := []string{unit}
		if unit == "record" {
			of = append(of, fmt.Sprintf("record, signal 1e%.0f", min(max(-2, math.Floor(math.Log10(signal))), 1)))
		}
		if text["part"] == "fresh" { // made after the table
			of = append(of, "fresh")
			if value["records"] > 20000 {
				of = append(of, "fresh, many records")
			}
		}
		for _, of := range of {
			if all[of]++; low <= gain && gain <= high {
				inside[of]++
			}
		}
	}
	t.Logf("%v of %v runs lie within", inside, all)
	for of, n := range all {
		least, most := 85, 95
		if n < 120 {
			least, most = 80, 100
		}
		if 100*inside[of] < least*n || 100*inside[of] > most*n {
			t.Errorf("%s: %d of %d runs lie within, want %d to %d %%", of, inside[of], n, least, most)
		}
	}
	if all["client"] < 150 || all["fresh"] < 300 || all["fresh, many records"] < 15 {
		t.Errorf("%v runs, want 150 of clients and 300 fresh ones, 15 of them of more than 20,000 records a member", all)
	}
}

// TestForecastCures checks that each change that a forecast lists raises the gain to Enough.
func TestForecastCures(t *testing.T) {
	few := clique(16, func(f *sdk.Fleet) { f.Dim = 40; f.Privacy.EpsilonLimit = 8 })
	r, err := plan.Forecast(few, 500)
	if err != nil || r.Gain >= plan.Enough || !r.Share || r.Members <= 16 || r.Epsilon <= 8 {
		t.Fatalf("%+v, %v", r, err)
	}
	for what, change := range map[string]func(f *sdk.Fleet){
		"members": func(f *sdk.Fleet) { *f = *clique(r.Members, func(g *sdk.Fleet) { g.Dim = 40 }) },
		"epsilon": func(f *sdk.Fleet) {
			m, p, err := plan.Suggest(plan.Known{Dim: 40, Samples: []int{500}, Method: f.Method,
				Privacy: sdk.Privacy{Clip: f.Privacy.Clip, EpsilonLimit: r.Epsilon}})
			if f.Method, f.Privacy = m, p; err != nil {
				t.Fatal(err)
			}
		},
		"sharing": func(f *sdk.Fleet) {
			p, err := f.Plan()
			if err != nil {
				t.Fatal(err)
			}
			g := p.Graph()
			most, err := plan.MostColluders(plan.Known{Graph: g})
			if err != nil || most < 2 {
				t.Fatal(most, err)
			}
			f.Method, f.Privacy, err = plan.Suggest(plan.Known{Dim: 40, Samples: []int{500}, Graph: g,
				Privacy: sdk.Privacy{EpsilonLimit: 8, Colluders: most}})
			if err != nil {
				t.Fatal(err)
			}
		},
	} {
		f := *few
		change(&f)
		if now, err := plan.Forecast(&f, 500); err != nil || now.Gain < plan.Enough || now.Members > 0 || now.Share {
			t.Errorf("%s: %+v, %v", what, now, err)
		}
	}
}

// TestForecastHalved checks that Halved equals the forecast with half the parameters, and that it is nil for a run with
// enough gain or few parameters.
func TestForecastHalved(t *testing.T) {
	for _, each := range []bool{false, true} {
		of := func(n, dim int) *plan.Outlook {
			r, err := plan.Forecast(clique(n, func(f *sdk.Fleet) {
				if f.Dim = dim; each {
					f.Privacy.Unit = dpmech.Record
					for range n {
						f.Records = append(f.Records, 50)
					}
				}
			}), 50)
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		n := 12
		if each {
			n = 2
		}
		many, half, few := of(n, 201), of(n, 101), of(3, 15)
		if many.Halved == nil || *many.Halved != half.Gain || half.Gain < many.Gain || few.Halved != nil {
			t.Errorf("each record %v: %+v, and with half %+v; %+v", each, many, half, few)
		}
		if !each && of(400, 16).Halved != nil {
			t.Errorf("a run that gains enough: %+v", of(400, 16))
		}
	}
}

// TestHopeless checks that the result of Hopeless does not depend on a member's data.
func TestHopeless(t *testing.T) {
	for want, f := range map[error]*sdk.Fleet{
		nil:              clique(8, nil),
		plan.ErrHopeless: clique(5, func(f *sdk.Fleet) { f.Privacy.Sigma *= 8 }),
	} {
		if err := plan.Hopeless(f); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
		if r, err := plan.Forecast(f, 1); err != nil || want != nil && r.Gain > 0.25 {
			t.Errorf("%+v, %v", r, err)
		}
	}
	noise := clique(3, func(f *sdk.Fleet) {
		f.Records, f.Privacy.Unit, f.Privacy.Sigma = []int{100, 100, 100}, dpmech.Record, 1e6*f.Privacy.Clip
	})
	if r, err := plan.Forecast(noise, 100); err != nil || r.Gain > 0 || !errors.Is(plan.Hopeless(noise), plan.ErrHopeless) {
		t.Errorf("records without any signal: %+v, %v", r, err)
	}
	free := clique(2, func(f *sdk.Fleet) { f.Privacy = sdk.Privacy{NonPrivate: true} })
	if _, err := plan.Forecast(free, 9); err == nil || !strings.Contains(err.Error(), "without noise") || plan.Hopeless(free) != nil {
		t.Errorf("%v", err)
	}
	if _, err := plan.Forecast(new(sdk.Fleet), 9); err == nil || plan.Hopeless(new(sdk.Fleet)) != nil {
		t.Errorf("%v", err)
	}
}
