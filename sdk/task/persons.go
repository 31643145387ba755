package task

import (
	"context"
	"math"
	"slices"

	"github.com/spade-dfl/spade-edge/zoest"
)

// persons lists the samples of each person, in their order, and the class of each one's first sample. Persons are in the
// order of their first samples.
func (d *Data) persons() (each [][]int, first []int) {
	at := make(map[int]int)
	for i, who := range d.Person {
		k, known := at[who]
		if !known {
			k = len(each)
			at[who] = k
			each, first = append(each, nil), append(first, d.Y[i])
		}
		each[k] = append(each[k], i)
	}
	return each, first
}

// Places returns how many samples the person has who has most of them; 0 if nothing says whose they are.
func (d *Data) Places() (most int) {
	each, _ := d.persons()
	for _, samples := range each {
		most = max(most, len(samples))
	}
	return most
}

// samplesOf returns the increasing indices of all samples of some persons.
func samplesOf(each [][]int, persons []int) (all []int) {
	for _, p := range persons {
		all = append(all, each[p]...)
	}
	slices.Sort(all)
	return all
}

// split is [Split], in which all samples of a person go to the same part: the class of the first one counts. If records
// are protected, classes do not count.
func (d *Data) split(fraction float64, seed uint64, records bool) (train, test []int, err error) {
	y := d.Y
	each, first := d.persons()
	if d.Person != nil {
		y = first
	}
	if records {
		y = make([]int, len(y))
	}
	if train, test, err = Split(y, d.Classes, fraction, seed); err != nil || d.Person == nil {
		return train, test, err
	}
	return samplesOf(each, train), samplesOf(each, test), nil
}

// Deal is [Partition.Assign] for the samples of d, in which all samples of a person go to the same client: the class of
// the first one counts.
func (p Partition) Deal(d *Data, clients int, seed uint64) ([][]int, error) {
	if d.Person == nil {
		return p.Assign(d.Y, d.Classes, clients, seed)
	}
	each, first := d.persons()
	parts, err := p.Assign(first, d.Classes, clients, seed)
	for i := range parts {
		parts[i] = samplesOf(each, parts[i])
	}
	return parts, err
}

// InPlaces returns the model as an oracle for a run that protects each person: sample p*places+j is record j of person p.
// A place without a record has loss 0, whatever the parameters. A person's records beyond places are never asked for. The
// data must say whose each sample is. What judges parameters ([Model.Accuracy] and others) is unchanged.
func (m *Model) InPlaces(places int) *Model {
	out := *m
	each, _ := m.data.persons()
	out.place = make([]int, 0, len(each)*places)
	for _, samples := range each {
		for j := range places {
			at := -1
			if j < len(samples) {
				at = samples[j]
			}
			out.place = append(out.place, at)
		}
	}
	return &out
}

// placedLosses is Losses for up to sixteen queries to a model in places.
func (m *Model) placedLosses(queries []zoest.Query, losses []float64) {
	var filled [16]zoest.Query
	var at [16]int
	var of [16]float64
	n := 0
	for i, q := range queries {
		losses[i] = 0
		switch {
		case uint(q.Sample) >= uint(len(m.place)) || m.check(q.Point) != nil:
			losses[i] = math.NaN()
		case m.place[q.Sample] >= 0:
			filled[n], at[n] = zoest.Query{Point: q.Point, Sample: m.place[q.Sample]}, i
			n++
		}
	}
	plain := *m
	plain.place = nil
	_ = plain.Losses(context.Background(), filled[:n], of[:n]) // m.err, which Losses returns
	for k, loss := range of[:n] {
		losses[at[k]] = loss
	}
}
