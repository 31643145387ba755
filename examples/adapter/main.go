// Command adapter adapts a frozen network to the images of eight cameras, with forward passes alone. The network was
// trained on clean digits, and the cameras add noise. The README explains the output.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/spade-dfl/spade-edge/sdk/adapter"
)

func main() {
	data := flag.String("data", "", "the `folder` with MNIST (default that of the module GoMNIST)")
	each := flag.Int("each", 200, "how many `digits` each of the eight members has, at most 5000")
	flag.Parse()
	if err := demonstrate(*data, *each); err != nil {
		fmt.Fprintln(os.Stderr, "adapter:", err)
		os.Exit(1)
	}
}

// The settings of the two adapters. They were chosen on the first 2000 test digits, so the table reports the others.
var (
	ofBiases   = way{biases(), 1, 0.1, 20, 6}
	ofSubspace = way{subspace(), 0.006, 0.01, 20, 0.5}
)

func demonstrate(data string, each int) error {
	t, err := newTrial(data, each, 20_000, 2000)
	if err != nil {
		return err
	}
	row := func(name, numbers, privacy string, accuracy float64, more string) {
		fmt.Printf("%-30s %8s  %-46s %5.1f %%%s\n", name, numbers, privacy, 100*accuracy, more)
	}
	fmt.Printf("%-30s %8s  %-46s %7s\n", "", "numbers", "privacy", "right")
	row("the frozen network", "", "", accuracy(t.base, t.held), "")
	row("pooled, gradients", fmt.Sprint(params), open, accuracy(tune(t.base, t.own, 5), t.held), "")
	for _, w := range []way{ofBiases, ofSubspace} {
		d := fmt.Sprint(w.spec.Dim)
		a, err := adapter.New(*w.spec, t.base, nil)
		if err != nil {
			return err
		}
		x := make([]float32, params)
		a.Expand(x, tuneAdapter(a, t.own, 300))
		row("pooled, gradients, "+w.spec.Form, d, open, accuracy(x, t.held), "")
		for _, privacy := range []string{open, record, client} {
			o, err := w.train(privacy, t.base, t.own, t.held)
			if err != nil {
				return err
			}
			row("SPADE-Edge, "+w.spec.Form, d, privacy, o.accuracy, fmt.Sprintf("  %d bytes a member and round, %d forward passes", o.bytes, o.queries))
		}
	}
	fmt.Printf("all parameters would be %d bytes a member and round\n", 4*params*(members-1))
	return nil
}

// trial has a frozen network, the noisy digits of the members, and further noisy digits for evaluation.
type trial struct {
	base      []float32
	own, held []digit
}

// newTrial trains the network on clean digits, none of which belongs to a member.
func newTrial(data string, each, clean, held int) (*trial, error) {
	train, test, err := load(data)
	if err != nil {
		return nil, err
	}
	if each < 1 || clean+members*each > len(train) || held > len(test) {
		return nil, fmt.Errorf("-each is %d, want 1..%d", each, (len(train)-clean)/members)
	}
	return &trial{pretrain(train[:clean], 1), noisy(train[clean:clean+members*each], 1), noisy(test[len(test)-held:], 2)}, nil
}
