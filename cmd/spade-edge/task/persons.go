package task

import "slices"

// persons lists the samples of each person, and the class of each person's first sample. Persons are in the order of
// their first samples. Without Person, each sample is a person.
func (d *Data) persons() (each [][]int, first []int) {
	at := make(map[int]int)
	for i, y := range d.Y {
		who := i
		if d.Person != nil {
			who = d.Person[i]
		}
		k, known := at[who]
		if !known {
			k = len(each)
			at[who] = k
			each, first = append(each, nil), append(first, y)
		}
		each[k] = append(each[k], i)
	}
	return each, first
}

// Places returns the largest number of samples that any person has. It returns 1 without Person and 0 without samples.
func (d *Data) Places() (most int) {
	each, _ := d.persons()
	for _, samples := range each {
		most = max(most, len(samples))
	}
	return most
}

// Beyond returns the number of samples of persons that have more than places samples, beyond that number.
func (d *Data) Beyond(places int) (n int) {
	each, _ := d.persons()
	for _, samples := range each {
		n += max(0, len(samples)-places)
	}
	return n
}

func samplesOf(each [][]int, persons []int) (all []int) {
	for _, p := range persons {
		all = append(all, each[p]...)
	}
	slices.Sort(all)
	return all
}

// split is like [Split], but keeps all samples of a person together and stratifies by the class of the person's first
// sample. If records is true, it does not stratify, because the split must then not depend on labels.
func (d *Data) split(fraction float64, seed uint64, records bool) (train, test []int, err error) {
	each, y := d.persons()
	if records {
		clear(y)
	}
	train, test, err = Split(y, d.Classes, fraction, seed)
	return samplesOf(each, train), samplesOf(each, test), err
}

// Deal is like [Partition.Assign] for the samples of d, but keeps all samples of a person together. It divides persons
// by the class of their first samples.
func (p Partition) Deal(d *Data, clients int, seed uint64) ([][]int, error) {
	each, first := d.persons()
	parts, err := p.Assign(first, d.Classes, clients, seed)
	for i := range parts {
		parts[i] = samplesOf(each, parts[i])
	}
	return parts, err
}

// InPlaces returns the model as an oracle for a run that protects each person: sample p*places+j is record j of person
// p. A place without a record has loss 0 for all parameters. If a person has more records than places, the further
// records are never queried. The data must have Person. Methods that judge parameters, such as [Model.Accuracy], still
// use every record.
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
