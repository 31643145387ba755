package setup

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"reflect"
	"slices"
	"testing"

	"github.com/spade-dfl/spade-edge/examples/hospital/heart"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/plan"
	"github.com/spade-dfl/spade-edge/sdk/sim"
	"github.com/spade-dfl/spade-edge/sdk/task"
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// site generates n samples with four columns. The first column, multiplied by sign, determines the class; the next two
// are noise; the last column is constant 1.
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

// TestPersonalize checks which model is best. At a site that differs from the other sites, the personal model must be
// significantly better than the fleet's model, and about as good as the local model. At a site whose few records agree
// with the fleet's model, the local model must be the worst of the three. The same records must result in bit-identical
// models.
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

// TestHalvesJudgeOthers checks that Personalize scores a model on samples that were not used to choose it. With random
// labels there is nothing to learn, and an untrained model has a loss of 0.25. On the half of the test samples used for
// scoring, the chosen model must not have a smaller loss; on the half used for choosing, it would.
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

// trainFleet trains a fleet on a complete graph. The parameter own has each member's data set. trainFleet returns the
// members' models.
func trainFleet(privacy sdk.Privacy, seed uint64, own []*task.Data) [][]float32 {
	f := &sdk.Fleet{Run: "figures", Dim: softmax.Dim(own[0].Dim, own[0].Classes)}
	k := plan.Known{Dim: f.Dim, Open: true, Columns: true, Privacy: privacy, Method: sdk.Method{Seed: seed}}
	for i, d := range own {
		f.Members, k.Samples = append(f.Members, fmt.Sprint(i)), append(k.Samples, d.Len())
		for j := range i {
			f.Edges = append(f.Edges, [2]string{fmt.Sprint(j), fmt.Sprint(i)})
		}
	}
	var err error
	f.Method, f.Privacy, err = plan.Suggest(k)
	must(err)
	if privacy.Unit == sdk.UnitRecord {
		f.Records = k.Samples
	}
	var clients []sim.Client
	for i, m := range need(f.Machines(k.Samples, func(i int) io.Reader {
		s := rng.New(seed, rng.Address{Purpose: rng.Noise, Client: uint32(i)})
		return &s
	})) {
		clients = append(clients, sim.Client{Config: m, Oracle: softmax.New(own[i])})
	}
	network := need(sim.New(clients))
	must(network.Run(context.Background(), nil))
	return network.Models()
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func need[T any](v T, err error) T {
	must(err)
	return v
}

// TestPersonalFigures computes the numbers in examples/hospital/README.md: the scores of the shared, the local and the
// personal model at each site.
//
//	SPADE_FIGURES=1 go test -run TestPersonalFigures -v -timeout 30m ./cmd/spade-edge/internal/setup
func TestPersonalFigures(t *testing.T) {
	if os.Getenv("SPADE_FIGURES") == "" {
		t.Skip("SPADE_FIGURES=1 measures them")
	}
	const data, seeds = "../../../../../shared/data", 10
	compare := func(name string, sites func(seed uint64) (train, test []*task.Data)) {
		for suffix, privacy := range map[string]sdk.Privacy{"no noise": {NonPrivate: true},
			"epsilon 1 for each patient": {Unit: sdk.UnitRecord, EpsilonLimit: 1, Delta: 1e-5}} {
			// right and loss hold each model's mean accuracy and mean loss; square holds the sum of the squared
			// differences between each model's loss and the personal model's loss. The models are the shared (0), the
			// local (1) and the personal model (2).
			var right, loss, square [3]float64
			best, n := map[string]int{}, 0.0
			for seed := uint64(1); seed <= seeds; seed++ {
				train, test := sites(seed)
				for i, model := range trainFleet(privacy, seed, train) {
					p := need(Personalize(t.Context(), softmax, model, make([]float32, len(model)), false, train[i], test[i]))
					n++
					for k, m := range p.Models {
						right[k] += (100*m.Classification.Accuracy.Value - right[k]) / n
						loss[k] += (m.Loss - loss[k]) / n
						square[k] += math.Pow(p.Models[2].Loss-m.Loss, 2)
					}
					best[p.Best]++
					for _, other := range p.Beats {
						best["over "+other]++
					}
				}
			}
			// 1.96 standard errors, over sites and seeds, of the mean difference in loss between the personal model and
			// model k
			wide := func(k int) float64 { return 1.96 * math.Sqrt(square[k]-n*math.Pow(loss[2]-loss[k], 2)) / n }
			t.Logf("%s, %s: accuracy %.1f; loss %.4f; personal less own %+.4f ± %.4f, less shared %+.4f ± %.4f; best %v of %.0f", name, suffix,
				right, loss, loss[2]-loss[1], wide(1), loss[2]-loss[0], wide(0), best, n)
		}
	}
	agreed := need(task.Fit(task.Spec{Source: "csv:../../../../examples/hospital/agreed.csv", Label: "ill", OneHot: []string{"cp", "restecg", "slope", "thal"},
		Missing: "indicator", Whole: true}, softmax, "a table of usual values, of nobody"))
	files := need(heart.Write(data+"/heart-four-hospitals", t.TempDir()))
	compare("four hospitals", func(seed uint64) (train, test []*task.Data) {
		_, each, err := agreed.ApplyFiles(task.Spec{TestFraction: 0.25, Seed: seed}, files)
		must(err)
		for _, one := range each {
			train, test = append(train, one.Train), append(test, one.Test)
		}
		return train, test
	})
	all := need(task.Load(task.Spec{Source: "csv:" + data + "/alzheimers/alzheimers_disease_data.csv", Label: "Diagnosis",
		Drop: []string{"PatientID", "DoctorInCharge"}, OneHot: []string{"Ethnicity", "EducationLevel"}, Whole: true})).Train
	for _, share := range []string{"dirichlet:0.1", "dirichlet:0.3"} {
		compare("Alzheimer's, ten clinics by "+share, func(seed uint64) (train, test []*task.Data) {
			partition := need(task.ParsePartition(share))
			for _, part := range need(partition.Deal(all, 10, seed)) {
				own := all.Select(part)
				learn, held, err := task.Split(own.Y, own.Classes, 0.25, seed)
				must(err)
				train, test = append(train, own.Select(learn)), append(test, own.Select(held))
			}
			return train, test
		})
	}
}
