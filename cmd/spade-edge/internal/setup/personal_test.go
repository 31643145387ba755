package setup

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/plan"
	"github.com/spade-dfl/spade-edge/sdk/sim"
	"github.com/spade-dfl/spade-edge/sdk/task"
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// site generates samples with four columns. The first, times sign, tells the class; two are noise; the last is one.
func site(n int, seed uint64, sign float64) *task.Data {
	s := rng.New(seed, rng.Address{Purpose: rng.Fault})
	d := &task.Data{Dim: 4, Classes: 2}
	for range n {
		x := s.Normal()
		y := 0
		if float64(sign*x)+0.5*s.Normal() > 0 {
			y = 1
		}
		d.X, d.Y = append(d.X, float32(x), float32(s.Normal()), float32(s.Normal()), 1), append(d.Y, y)
	}
	return d
}

var softmax = task.ModelSpec{Name: task.SoftmaxModel}

// At a site that differs from the others, the personal model is significantly best; where the fleet's model is right
// and the site has few records, the fleet's is. The same records give the same bits.
func TestPersonalize(t *testing.T) {
	right, zeros := []float32{4, 0, 0, 0}, make([]float32, 4)
	odd, err := Personalize(t.Context(), softmax, right, zeros, false, site(300, 1, -1), site(300, 2, -1))
	if err != nil {
		t.Fatal(err)
	}
	shared, own, personal := odd.Models[0], odd.Models[1], odd.Models[2]
	if odd.Best == "shared" || personal.Rounds == 0 || personal.Loss > 0.15 || !slices.Contains(odd.Beats, "shared") || shared.Loss < 0.5 ||
		shared.Rounds != 0 || odd.Records != 300 || own.Classification.Samples != 150 || personal.Loss > own.Loss+0.01 {
		t.Errorf("%+v", odd)
	}
	again, err := Personalize(t.Context(), softmax, right, zeros, false, site(300, 1, -1), site(300, 2, -1))
	if err != nil || !reflect.DeepEqual(odd, again) {
		t.Errorf("%+v, %v", again, err)
	}
	small, err := Personalize(t.Context(), softmax, right, zeros, false, site(12, 3, 1), site(300, 4, 1))
	if err != nil || small.Models[1].Loss < small.Models[0].Loss || small.Best == "own" || small.Models[2].Loss > small.Models[1].Loss {
		t.Errorf("%+v, %v", small, err)
	}
	if _, err := Personalize(t.Context(), softmax, right, zeros, false, site(12, 3, 1), site(19, 4, 1)); err == nil {
		t.Error("compared by too few samples")
	}
	train, test := site(60, 7, 1), site(60, 8, 1)
	for _, d := range []*task.Data{train, test} {
		d.Range = &task.Range{Low: -3, High: 3}
		for i := range d.Y {
			d.Target = append(d.Target, d.Row(i)[0])
		}
	}
	number, err := Personalize(t.Context(), task.ModelSpec{Name: task.LinearModel}, zeros, zeros, false, train, test)
	if err != nil || number.Best == "shared" || number.Models[2].Regression.R2.Value < 0.8 || number.Models[2].Classification != nil {
		t.Errorf("%+v, %v", number, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Personalize(ctx, softmax, right, zeros, false, site(12, 3, 1), site(90, 4, 1)); err == nil {
		t.Error("went on after the end")
	}
	if less([]float64{1, 2, 3}, []float64{1, 2, 3}) || !less([]float64{1, 2, 3}, []float64{2, 3, 4.1}) || less([]float64{1}, []float64{2}) {
		t.Error("less")
	}
}

// With random labels there is nothing to learn: without any round the loss is 0.25, and the model that one half of the
// samples chooses is no better on the other half, as it would be on the first.
func TestHalvesJudgeOthers(t *testing.T) {
	mean := 0.0
	const times = 8
	for seed := range uint64(times) {
		train, test := site(40, 10+seed, 1), site(60, 30+seed, 1)
		s := rng.New(seed, rng.Address{Purpose: rng.Fault})
		for i := range test.Y {
			test.Y[i] = s.IntN(2)
		}
		p, err := Personalize(t.Context(), softmax, make([]float32, 4), make([]float32, 4), false, train, test)
		if err != nil {
			t.Fatal(err)
		}
		mean += (p.Models[1].Loss - 0.25) / times
	}
	if mean <= 0 {
		t.Errorf("the loss is %.4f better than by chance", -mean)
	}
}

// tidied writes a hospital's file with empty cells for missing values and a column for the diagnosis.
func tidied(t *testing.T, path string) string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Skipf("no real data in ../shared/data beside the project: %v", err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	last := len(rows[0]) - 1
	for i, row := range rows {
		for j, name := range rows[0] {
			if (name == "chol" || name == "trestbps") && row[j] == "0" {
				row[j] = ""
			}
		}
		if i > 0 {
			row[last] = map[bool]string{true: "no", false: "yes"}[row[last] == "0"]
		}
	}
	rows[0][last] = "ill"
	out, err := os.Create(filepath.Join(t.TempDir(), filepath.Base(path)))
	if err == nil {
		err = errors.Join(csv.NewWriter(out).WriteAll(rows), out.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.Name()
}

// trainFleet trains a fleet on a complete graph with one data set per member, and returns the members' models.
func trainFleet(t *testing.T, privacy sdk.Privacy, seed uint64, own []*task.Data) [][]float32 {
	t.Helper()
	f := &sdk.Fleet{Run: "figures", Dim: softmax.Dim(own[0].Dim, own[0].Classes)}
	k := plan.Known{Dim: f.Dim, Open: true, Columns: true, Privacy: privacy, Method: sdk.Method{Seed: seed}}
	for i, d := range own {
		f.Members, k.Samples = append(f.Members, fmt.Sprint(i)), append(k.Samples, d.Len())
		for j := range i {
			f.Edges = append(f.Edges, [2]string{fmt.Sprint(j), fmt.Sprint(i)})
		}
	}
	var err error
	if f.Method, f.Privacy, err = plan.Suggest(k); err != nil {
		t.Fatal(err)
	}
	if privacy.Unit == sdk.UnitRecord {
		f.Records = k.Samples
	}
	machines, err := f.Machines(k.Samples, func(i int) io.Reader {
		s := rng.New(seed, rng.Address{Purpose: rng.Noise, Client: uint32(i)})
		return &s
	})
	if err != nil {
		t.Fatal(err)
	}
	var clients []sim.Client
	for i, m := range machines {
		clients = append(clients, sim.Client{Config: m, Oracle: softmax.New(own[i])})
	}
	network, err := sim.New(clients)
	if err == nil {
		err = network.Run(t.Context(), nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return network.Models()
}

// TestPersonalFigures computes the figures of examples/hospital/README.md: scores of the shared, the local and the
// personal model at each site.
//
//	SPADE_FIGURES=1 go test -run TestPersonalFigures -v -timeout 30m ./cmd/spade-edge/internal/setup
func TestPersonalFigures(t *testing.T) {
	if os.Getenv("SPADE_FIGURES") == "" {
		t.Skip("SPADE_FIGURES=1 measures them")
	}
	const data, seeds = "../../../../../shared/data", 10
	record := sdk.Privacy{Unit: sdk.UnitRecord, EpsilonLimit: 1, Delta: 1e-5}
	open := sdk.Privacy{NonPrivate: true}
	compare := func(name string, privacy sdk.Privacy, sites func(seed uint64) (train, test []*task.Data)) {
		var rows [][3]float64 // accuracies of shared, local, personal; then losses
		var losses [][3]float64
		best := map[string]int{}
		for seed := uint64(1); seed <= seeds; seed++ {
			train, test := sites(seed)
			models := trainFleet(t, privacy, seed, train)
			for i := range train {
				p, err := Personalize(t.Context(), softmax, models[i], make([]float32, len(models[i])), false, train[i], test[i])
				if err != nil {
					t.Fatal(err)
				}
				var right, loss [3]float64
				for k, m := range p.Models {
					right[k], loss[k] = m.Classification.Accuracy.Value, m.Loss
				}
				rows, losses = append(rows, right), append(losses, loss)
				best[p.Best]++
				for _, other := range p.Beats {
					best["over "+other]++
				}
			}
		}
		sum := func(rows [][3]float64) (mean [3]float64) {
			for _, r := range rows {
				for k, v := range r {
					mean[k] += v / float64(len(rows))
				}
			}
			return mean
		}
		if sites := len(rows) / seeds; sites == 4 {
			for i := range sites {
				var own [][3]float64
				for k := i; k < len(rows); k += sites {
					own = append(own, rows[k])
				}
				a := sum(own)
				t.Logf("| %s, site %d | %.1f | %.1f | %.1f |", name, i, 100*a[0], 100*a[1], 100*a[2])
			}
		}
		a, l := sum(rows), sum(losses)
		// the standard error, over sites and seeds, of the mean difference of losses between personal and the other
		// two
		se := func(k int) float64 {
			square := 0.0
			for _, r := range losses {
				d := r[2] - r[k] - (l[2] - l[k])
				square += d * d
			}
			return math.Sqrt(square) / float64(len(losses))
		}
		t.Logf("| %s | %.1f | %.1f | %.1f | %.4f | %.4f | %.4f | %+.4f ± %.4f | %+.4f ± %.4f | %d, %d, %d of %d | %d, %d |", name, 100*a[0], 100*a[1],
			100*a[2], l[0], l[1], l[2], l[2]-l[0], 1.96*se(0), l[2]-l[1], 1.96*se(1), best["shared"], best["own"], best["personal"], len(rows), best["over shared"], best["over own"])
	}
	files := []string{}
	for _, name := range []string{"cleveland", "hungarian", "switzerland", "va"} {
		files = append(files, tidied(t, data+"/heart-four-hospitals/"+name+".csv"))
	}
	agreed, err := task.Fit(task.Spec{Source: "csv:../../../../examples/hospital/agreed.csv", Label: "ill", OneHot: []string{"cp", "restecg", "slope", "thal"},
		Missing: "indicator", Whole: true}, softmax, "a table of usual values, of nobody")
	if err != nil {
		t.Fatal(err)
	}
	hospitals := func(seed uint64) (train, test []*task.Data) {
		_, each, err := agreed.ApplyFiles(task.Spec{TestFraction: 0.25, Seed: seed}, files)
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range each {
			train, test = append(train, one.Train), append(test, one.Test)
		}
		return train, test
	}
	compare("four hospitals, no noise", open, hospitals)
	compare("four hospitals, epsilon 1 for each patient", record, hospitals)
	all, err := task.Load(task.Spec{Source: "csv:" + data + "/alzheimers/alzheimers_disease_data.csv", Label: "Diagnosis", Drop: []string{"PatientID", "DoctorInCharge"},
		OneHot: []string{"Ethnicity", "EducationLevel"}, Whole: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, share := range []string{"dirichlet:0.1", "dirichlet:0.3"} {
		partition, err := task.ParsePartition(share)
		if err != nil {
			t.Fatal(err)
		}
		clinics := func(seed uint64) (train, test []*task.Data) {
			parts, err := partition.Deal(all.Train, 10, seed)
			if err != nil {
				t.Fatal(err)
			}
			for _, part := range parts {
				own := all.Train.Select(part)
				learn, held, err := task.Split(own.Y, own.Classes, 0.25, seed)
				if err != nil {
					t.Fatal(err)
				}
				train, test = append(train, own.Select(learn)), append(test, own.Select(held))
			}
			return train, test
		}
		compare("Alzheimer's, ten clinics by "+share+", no noise", open, clinics)
		compare("Alzheimer's, ten clinics by "+share+", epsilon 1 for each patient", record, clinics)
	}
}
