package task

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spade-dfl/spade-edge/zoest/rng"
	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// Partition is a rule that divides samples among clients. The zero value is the rule iid.
//
//	iid                     at random; sizes differ by at most one
//	dirichlet:A             sizes differ by at most one; each client draws its label shares from a symmetric
//	                        Dirichlet distribution with concentration A (small A, strong skew), refitted so that
//	                        every sample is used (after Hsu, Qi and Brown, "Measuring the effects of non-identical
//	                        data distribution", 2019)
//	dirichlet:A,unbalanced  a Dirichlet draw divides each class over the clients; sizes vary (Yurochkin et al.,
//	                        "Bayesian nonparametric federated learning of neural networks", 2019)
//	pathological:S          samples sorted by label, cut into equal shards, S random shards to each client (McMahan et
//	                        al., "Communication-efficient learning of deep networks", 2017)
type Partition struct {
	text       string  // what ParsePartition read; "" for iid
	alpha      float64 // the concentration; 0 unless the rule is dirichlet
	unbalanced bool
	shards     int // number of shards of each client; 0 unless the rule is pathological
}

// The ranges of A and S that ParsePartition accepts. With the smallest concentration A, one share of a draw is nearly
// 1; with the largest, all shares are nearly equal.
const (
	minAlpha  = 1e-3
	maxAlpha  = 1e6
	maxShards = 1000000
)

// UnmarshalText parses text with [ParsePartition].
func (p *Partition) UnmarshalText(text []byte) (err error) {
	*p, err = ParsePartition(string(text))
	return err
}

// ParsePartition parses a partition, with A between 0.001 and 1e6 and S a whole number between 1 and 1e6.
func ParsePartition(text string) (Partition, error) {
	p, err := Partition{text: text}, error(nil)
	switch kind, arg, _ := strings.Cut(text, ":"); {
	case text == "iid":
		return Partition{}, nil
	case kind == "dirichlet":
		arg, p.unbalanced = strings.CutSuffix(arg, ",unbalanced")
		if p.alpha, err = strconv.ParseFloat(arg, 64); err != nil || !(p.alpha >= minAlpha && p.alpha <= maxAlpha) {
			return Partition{}, fieldError("partition", "%s: concentration %q, want a number from %v to %v", text, arg, minAlpha, maxAlpha)
		}
	case kind == "pathological":
		if p.shards, err = strconv.Atoi(arg); err != nil || p.shards < 1 || p.shards > maxShards {
			return Partition{}, fieldError("partition", "%s: %q shards for each client, want a whole number from 1 to %d", text, arg, maxShards)
		}
	default:
		return Partition{}, fieldError("partition", "%q, want iid, dirichlet:A, dirichlet:A,unbalanced or pathological:S", text)
	}
	return p, nil
}

// String returns the text that [ParsePartition] read.
func (p Partition) String() string { return cmp.Or(p.text, "iid") }

// The random streams of a partition, as values of the field Step of [rng.Address].
const (
	dealStream   = iota // the order in which samples of a class, or all samples, are assigned
	shareStream         // label shares
	repairStream        // the sample that an empty client gets
	shardStream         // the client of each shard
)

func partitionStream(seed uint64, step, client, component int) rng.Stream {
	return rng.New(seed, rng.Address{
		Purpose: rng.Partition, Step: uint32(step), Client: uint32(client), Component: uint32(component),
	})
}

// Assign divides samples, with classes y in [0, classes), among clients, and returns the increasing indices of each
// client's samples. Each sample goes to one client, and no client stays empty. Assign fails if there are more clients
// (or shards) than samples.
func (p Partition) Assign(y []int, classes, clients int, seed uint64) ([][]int, error) {
	var fault error
	if clients < 1 {
		fault = fmt.Errorf("task: partition over %d clients, want at least 1", clients)
	} else if clients > len(y) {
		fault = fmt.Errorf("task: partition of %d samples over %d clients, want one or more for each", len(y), clients)
	} else if shards := int64(clients) * int64(p.shards); shards > int64(len(y)) {
		const format = "task: partition %s of %d samples over %d clients needs %d shards, want at least one sample in each"
		fault = fmt.Errorf(format, p, len(y), clients, shards)
	}
	if err := errors.Join(checkLabels(y, classes), fault); err != nil {
		return nil, err
	}
	var parts [][]int
	switch {
	case p.unbalanced:
		parts = p.divideClasses(y, classes, clients, seed)
	case p.alpha > 0:
		parts = p.divideEvenly(y, classes, clients, seed)
	case p.shards > 0:
		shards := cut(slices.Concat(shuffledClasses(y, classes, seed)...), clients*p.shards)
		s := partitionStream(seed, shardStream, 0, 0)
		shuffle(&s, shards)
		for i := range clients {
			parts = append(parts, slices.Concat(shards[i*p.shards:(i+1)*p.shards]...))
		}
	default:
		parts = cut(shuffledClasses(make([]int, len(y)), 1, seed)[0], clients)
	}
	for _, part := range parts {
		slices.Sort(part)
	}
	return parts, nil
}

// divideEvenly draws label shares for each client, adjusts the shares so that every sample is used, and divides each class
// accordingly.
func (p Partition) divideEvenly(y []int, classes, clients int, seed uint64) [][]int {
	members := shuffledClasses(y, classes, seed)
	totals := make([]int, classes)
	for c, m := range members {
		totals[c] = len(m)
	}
	sizes, shares := make([]int, clients), make([][]float64, clients)
	for i, part := range cut(make([]int, len(y)), clients) {
		sizes[i] = len(part)
		s := partitionStream(seed, shareStream, i, 0)
		shares[i] = dirichletShares(&s, p.alpha, classes)
	}
	parts := make([][]int, clients)
	for i, row := range wholeTable(fitMargins(shares, sizes, totals), sizes, totals) {
		for c, n := range row {
			parts[i] = append(parts[i], members[c][:n]...)
			members[c] = members[c][n:]
		}
	}
	return parts
}

// divideClasses divides each class among the clients. Each empty client then gets one random sample of the largest client.
func (p Partition) divideClasses(y []int, classes, clients int, seed uint64) [][]int {
	parts := make([][]int, clients)
	for c, m := range shuffledClasses(y, classes, seed) {
		s := partitionStream(seed, shareStream, 0, c)
		shares := dirichletShares(&s, p.alpha, clients)
		for i := range shares {
			shares[i] = float64(shares[i] * float64(len(m)))
		}
		for i, n := range wholeTable([][]float64{shares}, []int{len(m)}, slices.Repeat([]int{len(m)}, clients))[0] {
			parts[i] = append(parts[i], m[:n]...)
			m = m[n:]
		}
	}
	repair := partitionStream(seed, repairStream, 0, 0)
	for i := range parts {
		if len(parts[i]) > 0 {
			continue
		}
		largest := 0 // the first of the largest clients
		for k, part := range parts {
			if len(part) > len(parts[largest]) {
				largest = k
			}
		}
		k := repair.IntN(len(parts[largest]))
		parts[i] = []int{parts[largest][k]}
		parts[largest] = slices.Delete(parts[largest], k, k+1)
	}
	return parts
}

// Split divides samples, with classes y in [0, classes), into a training and a test part, class by class, and returns
// the increasing indices of the samples in each part. fraction, in (0, 1), is the share of each class that goes to the
// test part, rounded to a whole number of samples; but at least one sample of the class stays for training. Split fails
// if the test part would be empty.
func Split(y []int, classes int, fraction float64, seed uint64) (train, test []int, err error) {
	var fault error
	if !(fraction > 0 && fraction < 1) {
		fault = fmt.Errorf("task: test fraction is %v, want more than 0 and less than 1", fraction)
	}
	if err := errors.Join(checkLabels(y, classes), fault); err != nil {
		return nil, nil, err
	}
	for c, members := range byClass(y, classes) {
		s := rng.New(seed, rng.Address{Purpose: rng.Split, Component: uint32(c)})
		shuffle(&s, members)
		n := max(0, min(int(math.Floor(float64(fraction*float64(len(members)))+0.5)), len(members)-1))
		test = append(test, members[:n]...)
		train = append(train, members[n:]...)
	}
	if len(test) == 0 {
		return nil, nil, fmt.Errorf("task: a test fraction of %v with %d samples in %d classes leaves no test sample",
			fraction, len(y), classes)
	}
	slices.Sort(train)
	slices.Sort(test)
	return train, test, nil
}

func byClass(y []int, classes int) [][]int {
	members := make([][]int, classes)
	for i, c := range y {
		members[c] = append(members[c], i)
	}
	return members
}

func shuffledClasses(y []int, classes int, seed uint64) [][]int {
	members := byClass(y, classes)
	for c, m := range members {
		s := partitionStream(seed, dealStream, 0, c)
		shuffle(&s, m)
	}
	return members
}

func shuffle[T any](s *rng.Stream, v []T) {
	s.Shuffle(len(v), func(i, j int) { v[i], v[j] = v[j], v[i] })
}

// cut divides v into pieces whose lengths differ by at most one.
func cut(v []int, pieces int) [][]int {
	out := make([][]int, pieces)
	for i := range out {
		from := int64(len(v)) * int64(i) / int64(pieces)
		to := int64(len(v)) * int64(i+1) / int64(pieces)
		out[i] = v[from:to:to]
	}
	return out
}

// dirichletShares draws n shares that sum to 1 from the symmetric Dirichlet distribution, by normalizing Gamma draws. A
// Gamma draw of shape alpha is U^(1/alpha) times a draw of shape 1+alpha, with U uniform. Each Gamma draw is computed
// as its logarithm, which cannot underflow.
func dirichletShares(s *rng.Stream, alpha float64, n int) []float64 {
	shares := make([]float64, n)
	for k := range shares {
		shares[k] = vec.Log(s.Gamma(1+alpha)) + vec.Log(1-s.Float64())/alpha
	}
	softmax(shares)
	return shares
}

// fitMargins alternately scales the rows and columns of a table until the row sums match sizes and the column sums
// match totals (iterative proportional fitting; Deming and Stephan 1940). The sums of sizes and totals must be equal.
// It overwrites the table. Row sums are exact up to rounding; so are column sums, unless 2000 iterations are too few.
func fitMargins(table [][]float64, sizes, totals []int) [][]float64 {
	const floor, rounds, enough = 1e-9, 2000, 1e-9 // floor replaces zeros, which scaling would never change
	for _, row := range table {
		for c := range row {
			row[c] = max(row[c], floor)
		}
	}
	sums := make([]float64, len(totals))
	for range rounds {
		clear(sums)
		for i, row := range table {
			by := float64(sizes[i]) / sum(row)
			for c := range row {
				row[c] = float64(row[c] * by)
				sums[c] += row[c]
			}
		}
		off := 0.0
		for c, sum := range sums {
			off = max(off, math.Abs(sum-float64(totals[c])))
		}
		if off <= enough {
			break
		}
		for _, row := range table {
			for c := range row {
				if sums[c] > 0 { // a class without samples has the sum 0
					row[c] = float64(row[c] * (float64(totals[c]) / sums[c]))
				}
			}
		}
	}
	return table
}

// wholeTable rounds a table to whole numbers with exactly the given row and column sums. It first rounds each entry
// down. Then it increases entries whose row and column sums are still too small, beginning with the entries that lost
// the most by rounding.
func wholeTable(table [][]float64, sizes, totals []int) [][]int {
	type entry struct {
		i, c int
		lost float64
	}
	rowLeft, columnLeft := slices.Clone(sizes), slices.Clone(totals)
	whole := make([][]int, len(table))
	add := func(i, c, most int) int {
		n := min(most, rowLeft[i], columnLeft[c])
		whole[i][c] += n
		rowLeft[i] -= n
		columnLeft[c] -= n
		return n
	}
	var entries []entry
	for i, row := range table {
		whole[i] = make([]int, len(row))
		for c, x := range row {
			entries = append(entries, entry{i, c, x - float64(add(i, c, int(x)))})
		}
	}
	slices.SortStableFunc(entries, func(a, b entry) int { return cmp.Compare(b.lost, a.lost) })
	for _, most := range []int{1, math.MaxInt} { // adding at most 1 to each entry is nearly always enough
		for _, e := range entries {
			add(e.i, e.c, most)
		}
	}
	return whole
}
