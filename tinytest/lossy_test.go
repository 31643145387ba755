package tinytest_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/sim"
	"github.com/spade-dfl/spade-edge/sdk/task"
	"github.com/spade-dfl/spade-edge/tinytest"
	"github.com/spade-dfl/spade-edge/zoest"
)

// losses are the networks that lossy runs are measured on, from good to bad. The bursts lose a tenth of all messages, a
// bad channel lasting for five messages in the mean.
var losses = []struct {
	name string
	fate sim.FaultSchedule
}{
	{"none", nil},
	{"1 %", tinytest.Drop(1, 0.01)},
	{"10 %", tinytest.Drop(1, 0.1)},
	{"30 %", tinytest.Drop(1, 0.3)},
	{"bursts of 5, 10 %", tinytest.GilbertElliott(1, 0.2/9, 0.2, 0, 1)},
	{"bursts of 20, 10 %", tinytest.GilbertElliott(1, 0.05/9, 0.05, 0, 1)},
}

// measured is what a run on a ring of 20 came to.
type measured struct {
	ticks        int
	transcript   string
	disagreement float64 // (1/N) sum |x_i - xbar|²
	quality      float64
}

// measure runs a ring of 20 and judges the network's average model, and every client's, by quality.
func measure(t *testing.T, net *tinytest.Network, fate sim.FaultSchedule, lossy int,
	quality func(models [][]float32, mean []float32) float64) measured {
	t.Helper()
	clients, err := net.Clients()
	if err != nil {
		t.Fatal(err)
	}
	for i := range clients {
		clients[i].Config.Lossy = lossy
	}
	network, err := sim.New(clients)
	if err != nil {
		t.Fatal(err)
	}
	network.Faults = fate
	m := measured{transcript: finish(t, network), ticks: network.Ticks()}
	models := network.Models()
	mean := make([]float32, len(models[0]))
	for j := range mean {
		sum := 0.0
		for _, x := range models {
			sum += float64(x[j])
		}
		mean[j] = float32(sum / float64(len(models)))
	}
	for _, x := range models {
		m.disagreement += distance2(x, mean) / float64(len(models))
	}
	m.quality = quality(models, mean)
	return m
}

func distance2(x, y []float32) float64 {
	sum := 0.0
	for j := range x {
		off := float64(x[j]) - float64(y[j])
		sum += float64(off * off)
	}
	return sum
}

// ring20 returns the fleet of a ring of 20.
func ring20(dim int, m sdk.Method) *sdk.Fleet {
	f := &sdk.Fleet{Run: "lossy", Dim: dim, Members: numbered(20), Method: m, Privacy: sdk.Privacy{NonPrivate: true}}
	for i := range f.Members {
		f.Edges = append(f.Edges, [2]string{f.Members[i], f.Members[(i+1)%20]})
	}
	return f
}

// quadratics is a ring of 20 clients that would all rather be elsewhere: the minimizer of the whole is the mean of
// theirs. Its quality is the distance of the average model from there.
func quadratics() (*tinytest.Network, func([][]float32, []float32) float64) {
	net := &tinytest.Network{Fleet: ring20(10, sdk.Method{
		Rounds: 100, Cooldown: 20, Tau: 2, Batch: 5, Rho: 1, Gain: 0.75, Estimator: sdk.EstimatorCentered,
		Eta: admm.Schedule{0.2}, Mu: admm.Schedule{0.1}, Seed: 3,
	})}
	least := make([]float64, 10)
	for i := range 20 {
		o := tinytest.Quadratic(9, i, 10, 10)
		net.Samples, net.Oracles = append(net.Samples, 10), append(net.Oracles, zoest.Oracle(o))
		for j, v := range o.Minimizer() {
			least[j] += v / 20
		}
	}
	return net, func(_ [][]float32, mean []float32) float64 { return math.Sqrt(distance2(mean, single(least))) }
}

// clinics is a ring of 20 clinics with different mixtures of patients. Its quality is the accuracy, in percent, of the
// clients' own models on test data, in the mean.
func clinics(t *testing.T) (*tinytest.Network, func([][]float32, []float32) float64) {
	t.Helper()
	set, err := task.Load(task.Spec{Source: "synthetic:clinical", Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	partition, err := task.ParsePartition("dirichlet:0.3")
	if err != nil {
		t.Fatal(err)
	}
	parts, err := partition.Assign(set.Train.Y, set.Train.Classes, 20, 1)
	if err != nil {
		t.Fatal(err)
	}
	test := task.NewSoftmax(set.Test)
	net := &tinytest.Network{Fleet: ring20(test.Dim(), sdk.Method{
		Rounds: 50, Cooldown: 20, Tau: 2, Rho: 1, Gain: 0.75, Estimator: sdk.EstimatorCentered,
		Eta: admm.Schedule{1}, Mu: admm.Schedule{0.5}, Seed: 3,
	})}
	for _, part := range parts {
		net.Samples = append(net.Samples, len(part))
		net.Oracles = append(net.Oracles, zoest.Oracle(task.NewSoftmax(set.Train.Select(part))))
	}
	return net, func(models [][]float32, _ []float32) float64 {
		sum := 0.0
		for _, x := range models {
			sum += 100 * test.Accuracy(x)
		}
		return sum / float64(len(models))
	}
}

// The direction of the result: a run that waits is exact on every network, and pays with time. A lossy one ends sooner,
// with a disagreement that stays bounded and a model not far from where it should be.
func TestLossyRuns(t *testing.T) {
	net, quality := quadratics()
	exact := measure(t, net, nil, 0, quality)
	for _, loss := range losses {
		waits := measure(t, net, loss.fate, 0, quality)
		if waits.transcript != exact.transcript {
			t.Errorf("%s: a run that waits computes something else", loss.name)
		}
		for _, ticks := range []int{1, 2, 4} {
			lossy := measure(t, net, loss.fate, ticks, quality)
			if loss.fate == nil && lossy.transcript != exact.transcript {
				t.Errorf("lossy %d without losses computes something else", ticks)
			}
			if lossy.ticks > waits.ticks && ticks == 1 {
				t.Errorf("%s, lossy %d: %d ticks, more than the %d of a run that waits", loss.name, ticks, lossy.ticks, waits.ticks)
			}
			// The clients' own minimizers are about 0.6 from the network's: without messages disagreement would be about 0.36.
			if !(lossy.disagreement < 0.1 && lossy.quality < 0.4) {
				t.Errorf("%s, lossy %d: disagreement %v and distance %v, want below 0.1 and 0.4", loss.name, ticks,
					lossy.disagreement, lossy.quality)
			}
		}
	}
}

// The table of the documentation: go test ./tinytest -run LossyTable -v
func TestLossyTable(t *testing.T) {
	if !testing.Verbose() {
		t.Skip("prints a table, with -v")
	}
	q, distance := quadratics()
	c, accuracy := clinics(t)
	var text strings.Builder
	fmt.Fprintf(&text, "\n%-20s %-8s %7s %13s %10s %7s %13s %9s\n", "", "", "quadratic", "", "", "clinics", "", "")
	fmt.Fprintf(&text, "%-20s %-8s %7s %13s %10s %7s %13s %9s\n", "loss", "mode", "ticks", "disagreement", "distance",
		"ticks", "disagreement", "accuracy")
	for _, loss := range losses {
		for _, lossy := range []int{0, 1, 2, 4} {
			mode := "waits"
			if lossy > 0 {
				mode = fmt.Sprintf("lossy %d", lossy)
			}
			a, b := measure(t, q, loss.fate, lossy, distance), measure(t, c, loss.fate, lossy, accuracy)
			fmt.Fprintf(&text, "%-20s %-8s %7d %13.2e %10.4f %7d %13.2e %8.2f%%\n", loss.name, mode,
				a.ticks, a.disagreement, a.quality, b.ticks, b.disagreement, b.quality)
		}
	}
	t.Log(text.String())
}
