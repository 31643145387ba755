package task

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spade-dfl/spade-edge/zoest/rng"
	"github.com/spade-dfl/spade-edge/zoest/vec"
)

// Partition is a rule that deals samples to clients. The zero value is iid.
//
//	iid                     at random; sizes differ by at most one
//	dirichlet:A             sizes differ by at most one, but each client has label shares of its own, drawn from a
//	                        symmetric Dirichlet distribution with concentration A (after Hsu, Qi and Brown, "Measuring
//	                        the effects of non-identical data distribution", 2019) and then refitted so that every
//	                        sample is used; the smaller A, the stronger the skew
//	dirichlet:A,unbalanced  each class is shared out by a Dirichlet draw over the clients; sizes follow (Yurochkin et
//	                        al., "Bayesian nonparametric federated learning of neural networks", 2019)
//	pathological:S          samples sorted by label, cut into equal shards, S random shards to each client (McMahan et
//	                        al., "Communication-efficient learning of deep networks", 2017)
type Partition struct {
	kind   partitionKind
	alpha  float64
	shards int
}

type partitionKind int

const (
	iid partitionKind = iota
	dirichlet
	unbalanced
	pathological
)

// What ParsePartition takes. At the ends of the range of concentrations, shares are all in one place and all alike.
const (
	minAlpha  = 1e-3
	maxAlpha  = 1e6
	maxShards = 1000000
)

// ParsePartition reads a partition as the flag -partition takes it: iid, dirichlet:A, dirichlet:A,unbalanced or
// pathological:S, with A between 0.001 and 1e6 and S a whole number between 1 and 1e6.
func ParsePartition(text string) (Partition, error) {
	kind, arg, _ := strings.Cut(text, ":")
	switch kind {
	case "iid":
		if text == "iid" {
			return Partition{}, nil
		}
	case "dirichlet":
		p := Partition{kind: dirichlet}
		if a, ok := strings.CutSuffix(arg, ",unbalanced"); ok {
			p.kind, arg = unbalanced, a
		}
		a, err := strconv.ParseFloat(arg, 64)
		if err != nil || !(a >= minAlpha && a <= maxAlpha) {
			return Partition{}, fmt.Errorf("task: -partition %s: concentration %q, want a number from %v to %v",
				text, arg, minAlpha, maxAlpha)
		}
		p.alpha = a
		return p, nil
	case "pathological":
		s, err := strconv.Atoi(arg)
		if err != nil || s < 1 || s > maxShards {
			return Partition{}, fmt.Errorf("task: -partition %s: %q shards a client, want a whole number from 1 to %d",
				text, arg, maxShards)
		}
		return Partition{kind: pathological, shards: s}, nil
	}
	return Partition{}, fmt.Errorf("task: -partition %q, want iid, dirichlet:A, dirichlet:A,unbalanced or pathological:S", text)
}

// String returns what [ParsePartition] reads.
func (p Partition) String() string {
	switch p.kind {
	case dirichlet:
		return fmt.Sprintf("dirichlet:%v", p.alpha)
	case unbalanced:
		return fmt.Sprintf("dirichlet:%v,unbalanced", p.alpha)
	case pathological:
		return fmt.Sprintf("pathological:%d", p.shards)
	}
	return "iid"
}

// The streams of a partition, told apart by the address's step.
const (
	dealStream   = iota // the order in which the samples of a class, or all of them, are dealt
	shareStream         // label shares
	repairStream        // who gives a sample to an empty client
	shardStream         // who gets which shard
)

func partitionStream(seed uint64, step, client, component int) rng.Stream {
	return rng.New(seed, rng.Address{
		Purpose: rng.Partition, Step: uint32(step), Client: uint32(client), Component: uint32(component),
	})
}

// Assign deals the samples of a data set, whose classes y lie in [0, classes), to clients. It returns for each client the
// indices of its samples in increasing order. Each sample goes to exactly one client and no client stays empty; more
// clients (or shards) than samples are an error.
func (p Partition) Assign(y []int, classes, clients int, seed uint64) ([][]int, error) {
	var faults []error
	if err := checkLabels(y, classes); err != nil {
		faults = append(faults, err)
	}
	if clients < 1 {
		faults = append(faults, fmt.Errorf("task: partition over %d clients, want at least 1", clients))
	} else if clients > len(y) {
		faults = append(faults, fmt.Errorf("task: partition of %d samples over %d clients, want at least one sample each",
			len(y), clients))
	} else if p.kind == pathological && int64(clients)*int64(p.shards) > int64(len(y)) {
		faults = append(faults, fmt.Errorf("task: partition %s of %d samples over %d clients needs %d shards, want at least one sample in each",
			p, len(y), clients, int64(clients)*int64(p.shards)))
	}
	if faults != nil {
		return nil, errors.Join(faults...)
	}
	var parts [][]int
	switch p.kind {
	case dirichlet:
		parts = p.balanced(y, classes, clients, seed)
	case unbalanced:
		parts = p.unbalanced(y, classes, clients, seed)
	case pathological:
		parts = p.pathological(y, classes, clients, seed)
	default:
		all := make([]int, len(y))
		for i := range all {
			all[i] = i
		}
		s := partitionStream(seed, dealStream, 0, 0)
		shuffle(&s, all)
		parts = cut(all, clients)
	}
	for _, part := range parts {
		slices.Sort(part)
	}
	return parts, nil
}

// balanced draws label shares for each client, refits them and deals each class out accordingly.
func (p Partition) balanced(y []int, classes, clients int, seed uint64) [][]int {
	members := shuffledClasses(y, classes, seed)
	totals := make([]int, classes)
	for c, m := range members {
		totals[c] = len(m)
	}
	all := make([]int, len(y))
	sizes := make([]int, clients)
	for i, part := range cut(all, clients) {
		sizes[i] = len(part)
	}
	shares := make([][]float64, clients)
	for i := range shares {
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

// unbalanced shares each class out over the clients, then gives each empty client a random sample of the largest one.
func (p Partition) unbalanced(y []int, classes, clients int, seed uint64) [][]int {
	parts := make([][]int, clients)
	for c, m := range shuffledClasses(y, classes, seed) {
		s := partitionStream(seed, shareStream, 0, c)
		shares := dirichletShares(&s, p.alpha, clients)
		for i, n := range wholeShares(shares, len(m)) {
			parts[i] = append(parts[i], m[:n]...)
			m = m[n:]
		}
	}
	repair := partitionStream(seed, repairStream, 0, 0)
	for i := range parts {
		if len(parts[i]) > 0 {
			continue
		}
		largest := 0
		for j, part := range parts {
			if len(part) > len(parts[largest]) {
				largest = j
			}
		}
		from := parts[largest]
		k := repair.IntN(len(from))
		parts[i] = []int{from[k]}
		parts[largest] = slices.Delete(from, k, k+1)
	}
	return parts
}

// pathological cuts the samples, sorted by label, into shards and deals those.
func (p Partition) pathological(y []int, classes, clients int, seed uint64) [][]int {
	sorted := slices.Concat(shuffledClasses(y, classes, seed)...)
	shards := cut(sorted, clients*p.shards)
	s := partitionStream(seed, shardStream, 0, 0)
	s.Shuffle(len(shards), func(i, j int) { shards[i], shards[j] = shards[j], shards[i] })
	parts := make([][]int, clients)
	for i := range parts {
		parts[i] = slices.Concat(shards[i*p.shards : (i+1)*p.shards]...)
	}
	return parts
}

// shuffledClasses lists the samples of each class in random order.
func shuffledClasses(y []int, classes int, seed uint64) [][]int {
	members := byClass(y, classes)
	for c, m := range members {
		s := partitionStream(seed, dealStream, 0, c)
		shuffle(&s, m)
	}
	return members
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

// dirichletShares draws n shares that sum to 1 from the symmetric Dirichlet distribution: Gamma draws, normalised. A
// Gamma draw of shape alpha is one of shape 1+alpha times U^(1/alpha); in logarithms it cannot underflow.
func dirichletShares(s *rng.Stream, alpha float64, n int) []float64 {
	shares := make([]float64, n)
	largest := math.Inf(-1)
	for k := range shares {
		shares[k] = vec.Log(s.Gamma(1+alpha)) + vec.Log(1-s.Float64())/alpha
		largest = max(largest, shares[k])
	}
	sum := 0.0
	for k, l := range shares {
		shares[k] = vec.Exp(l - largest)
		sum += shares[k]
	}
	for k := range shares {
		shares[k] /= sum
	}
	return shares
}
