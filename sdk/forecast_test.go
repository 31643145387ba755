package sdk_test

import (
	"encoding/csv"
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk"
)

// clique returns a private fleet of n members, each linked to all others.
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

// What the forecast says of the runs in .ci/validate/forecast.csv is mostly what became of them. Its numbers were fixed
// when the first hundred were there. The gain is the share of what the run without noise has over a coin.
func TestForecastValidated(t *testing.T) {
	t.Parallel()
	file, err := os.Open("../.ci/validate/forecast.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	total, right := map[sdk.Worth]int{}, map[sdk.Worth]int{}
	for _, line := range lines[101:] {
		value := map[string]float64{}
		for i, name := range lines[0] {
			value[name], _ = strconv.ParseFloat(line[i], 64) // words are 0
		}
		f := clique(int(value["nodes"]), func(f *sdk.Fleet) {
			f.Dim, f.Method.Tau = int(value["dim"]), int(value["tau"])
			f.Privacy.Clip, f.Privacy.Sigma = value["clip"], value["sigma"]
		})
		samples := value["queries"] / (value["nodes"] * 50 * (1 + value["tau"]))
		r, err := f.Forecast(int(samples))
		if err != nil {
			t.Fatal(err)
		}
		gain := (value["accuracy"] - 50) / (value["free"] - 50)
		total[r.Worth]++
		if r.Worth == sdk.Hopeless && gain < 0.5 || r.Worth == sdk.Good && gain > 0.75 || r.Worth == sdk.Weak && gain < 0.9 {
			right[r.Worth]++
		}
	}
	for worth, n := range total {
		t.Logf("%v: %d of %d", worth, right[worth], n)
	}
	if len(lines) < 301 || total[sdk.Hopeless] < 40 || total[sdk.Good] < 40 ||
		10*right[sdk.Hopeless] < 8*total[sdk.Hopeless] || 10*right[sdk.Good] < 9*total[sdk.Good] {
		t.Errorf("%d lines, %v right of %v", len(lines)-1, right, total)
	}
}

// What would do, does.
func TestForecastCures(t *testing.T) {
	few := clique(16, func(f *sdk.Fleet) { f.Dim = 40; f.Privacy.EpsilonLimit = 8 })
	r, err := few.Forecast(500)
	if err != nil || r.Worth != sdk.Weak || !r.Share || r.Members <= 16 || r.Epsilon <= 8 {
		t.Fatalf("%+v, %v", r, err)
	}
	for what, change := range map[string]func(f *sdk.Fleet){
		"members": func(f *sdk.Fleet) { *f = *clique(r.Members, func(g *sdk.Fleet) { g.Dim = 40 }) },
		"epsilon": func(f *sdk.Fleet) {
			m, p, err := sdk.Suggest(sdk.Known{Dim: 40, Samples: []int{500}, Method: f.Method,
				Privacy: sdk.Privacy{Clip: f.Privacy.Clip, EpsilonLimit: r.Epsilon}})
			if f.Method, f.Privacy = m, p; err != nil {
				t.Fatal(err)
			}
		},
		"sharing": func(f *sdk.Fleet) {
			g, err := f.Graph()
			if err != nil {
				t.Fatal(err)
			}
			most, err := sdk.MostColluders(sdk.Known{Graph: g})
			if err != nil || most < 2 {
				t.Fatal(most, err)
			}
			f.Method, f.Privacy, err = sdk.Suggest(sdk.Known{Dim: 40, Samples: []int{500}, Graph: g,
				Privacy: sdk.Privacy{EpsilonLimit: 8, Colluders: most}})
			if err != nil {
				t.Fatal(err)
			}
		},
	} {
		f := *few
		change(&f)
		if now, err := f.Forecast(500); err != nil || now.Worth != sdk.Good || now.Members > 0 || now.Share {
			t.Errorf("%s: %+v, %v", what, now, err)
		}
	}
}

// With half the parameters the forecast is what it says; a good run and one with few parameters say nothing of it.
func TestForecastHalved(t *testing.T) {
	for _, each := range []bool{false, true} {
		of := func(n, dim int) *sdk.Forecast {
			r, err := clique(n, func(f *sdk.Fleet) {
				if f.Dim = dim; each {
					f.Privacy.Unit = sdk.UnitRecord
					for range n {
						f.Records = append(f.Records, 50)
					}
				}
			}).Forecast(50)
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		many, half, few := of(3, 201), of(3, 101), of(3, 15)
		if many.Worth == sdk.Good || many.Halved != half.Signal || !(many.Halved > 1.4*many.Signal) || few.Halved != 0 {
			t.Errorf("each record %v: %+v, and with half %+v; %+v", each, many, half, few)
		}
		if !each && of(300, 16).Halved != 0 {
			t.Errorf("a good run: %+v", of(300, 16))
		}
	}
}

// All members call the same runs hopeless, whatever data they have.
func TestHopeless(t *testing.T) {
	for want, f := range map[error]*sdk.Fleet{
		nil:             clique(8, nil),
		sdk.ErrHopeless: clique(5, func(f *sdk.Fleet) { f.Privacy.Sigma *= 8 }),
	} {
		if err := f.Hopeless(); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
		if r, err := f.Forecast(1); err != nil || want != nil && r.Worth != sdk.Hopeless {
			t.Errorf("%+v, %v", r, err)
		}
	}
	free := clique(2, func(f *sdk.Fleet) { f.Privacy = sdk.Privacy{NonPrivate: true} })
	if _, err := free.Forecast(9); err == nil || !strings.Contains(err.Error(), "without noise") || free.Hopeless() != nil {
		t.Errorf("%v", err)
	}
	if _, err := new(sdk.Fleet).Forecast(9); err == nil || new(sdk.Fleet).Hopeless() != nil {
		t.Errorf("%v", err)
	}
}
