package task

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// Split deals samples into a training and a test part, class by class: of each class, the share fraction rounded to the
// nearest whole number goes to the test part, but always leaves one sample for training. y holds classes in
// [0, classes), fraction lies between 0 and 1. Which samples go where depends on the seed; both parts list indices in
// increasing order. It fails if an argument is out of range or the test part would be empty.
func Split(y []int, classes int, fraction float64, seed uint64) (train, test []int, err error) {
	var faults []error
	if err := checkLabels(y, classes); err != nil {
		faults = append(faults, err)
	}
	if !(fraction > 0 && fraction < 1) {
		faults = append(faults, fmt.Errorf("task: test fraction %v, want more than 0 and less than 1", fraction))
	}
	if faults != nil {
		return nil, nil, errors.Join(faults...)
	}
	for c, members := range byClass(y, classes) {
		s := rng.New(seed, rng.Address{Purpose: rng.Split, Component: uint32(c)})
		shuffle(&s, members)
		n := int(math.Floor(float64(fraction*float64(len(members))) + 0.5))
		n = max(min(n, len(members)-1), 0)
		test = append(test, members[:n]...)
		train = append(train, members[n:]...)
	}
	if len(test) == 0 {
		return nil, nil, fmt.Errorf("task: test fraction %v of %d samples in %d classes leaves no test sample", fraction, len(y), classes)
	}
	slices.Sort(train)
	slices.Sort(test)
	return train, test, nil
}

// byClass lists the samples of each class.
func byClass(y []int, classes int) [][]int {
	members := make([][]int, classes)
	for i, c := range y {
		members[c] = append(members[c], i)
	}
	return members
}

func shuffle(s *rng.Stream, v []int) {
	s.Shuffle(len(v), func(i, j int) { v[i], v[j] = v[j], v[i] })
}
