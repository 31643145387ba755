// Command adapter adapts a frozen network to the images of eight cameras, using only forward passes. The network was
// trained on clean digits; the cameras add noise. With -queries, the command instead compares estimators and numbers of
// queries per round. The README explains both outputs.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/spade-dfl/spade-edge/examples/adapter"
	"github.com/spade-dfl/spade-edge/examples/adapter/frozen"
)

func main() {
	data := flag.String("data", "", "the `folder` with MNIST (default that of the module GoMNIST)")
	each := flag.Int("each", 200, "how many `digits` each of the eight members has, at most 5000; not for -queries")
	queries := flag.Bool("queries", false, "compare estimators and numbers of queries a round, with few digits")
	flag.Parse()
	var err error
	switch {
	case flag.NArg() > 0:
		err = fmt.Errorf("unexpected argument %q: every setting is a flag", flag.Arg(0))
	case *queries:
		err = fewRecords(*data, complete, os.Stdout, os.Stderr)
	default:
		err = demonstrate(*data, *each, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "adapter:", err)
		os.Exit(1)
	}
}

// The two adapters with their settings, which were chosen on the first 2000 test digits. Accuracy is therefore reported
// on other test digits.
var (
	ofBiases   = way{frozen.Large.Biases(), 1, 0.1, 20, 6}
	ofSubspace = way{frozen.Large.Subspace(256), 0.006, 0.01, 20, 0.5}
)

func demonstrate(data string, each int, out io.Writer) error {
	t, err := newTrial(data, each, frozen.Clean, 2000)
	if err != nil {
		return err
	}
	row := func(name, numbers, privacy string, accuracy float64, more string) {
		fmt.Fprintf(out, "%-30s %8s  %-46s %5.1f %%%s\n", name, numbers, privacy, 100*accuracy, more)
	}
	fmt.Fprintf(out, "%-30s %8s  %-46s %7s\n", "", "numbers", "privacy", "right")
	row("the frozen network", "", "", t.Accuracy(t.base, t.held), "")
	row("pooled, gradients", fmt.Sprint(t.Params()), open, t.Accuracy(t.Tune(t.base, t.own, 5), t.held), "")
	for _, w := range []way{ofBiases, ofSubspace} {
		d := fmt.Sprint(w.spec.Dim)
		a, err := adapter.New(*w.spec, t.base, nil)
		if err != nil {
			return err
		}
		x := make([]float32, t.Params())
		a.Expand(x, t.TuneAdapter(a, t.own, 300))
		row("pooled, gradients, "+w.name(), d, open, t.Accuracy(x, t.held), "")
		for _, privacy := range []string{open, record, client} {
			o, err := w.train(privacy, t)
			if err != nil {
				return err
			}
			row("SPADE-Edge, "+w.name(), d, privacy, o.accuracy, fmt.Sprintf("  %d bytes a member and round, %d forward passes", o.bytes, o.queries))
		}
	}
	fmt.Fprintf(out, "all parameters would be %d bytes a member and round\n", 4*t.Params()*(members-1))
	return nil
}

// trial holds a frozen network, the members' noisy digits for training, and further noisy digits for evaluation.
type trial struct {
	frozen.Network
	base      []float32
	own, held []frozen.Digit
	seed      uint64 // of directions and noise
}

// newTrial returns a trial whose network is trained on the given number of clean digits. No member has any of the clean
// digits.
func newTrial(data string, each, clean, held int) (*trial, error) {
	if each < 1 || each > most {
		return nil, fmt.Errorf("-each is %d, want 1..%d", each, most)
	}
	s, err := frozen.Open(frozen.Large, data, clean)
	if err != nil {
		return nil, err
	}
	return dealt(s, each, held, 0, false)
}

// The constant most is the maximum number of digits per member.
const most = (60_000 - frozen.Clean) / members

// dealt returns a trial with the digits that s deals for a seed. The parameter each is the number of digits per member,
// and held is the number of digits for evaluation. See [frozen.Source.Deal] for validate.
func dealt(s *frozen.Source, each, held int, seed uint64, validate bool) (*trial, error) {
	own, eval, err := s.Deal(members*each, held, seed, validate)
	return &trial{s.Network, s.Base, own, eval, 1 + seed}, err
}
