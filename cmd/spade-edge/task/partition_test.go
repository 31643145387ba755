package task

import (
	"math"
	"slices"
	"strings"
	"testing"
)

var allPartitions = []string{"iid", "dirichlet:0.3", "dirichlet:100", "dirichlet:0.001", "dirichlet:0.3,unbalanced",
	"dirichlet:0.01,unbalanced", "pathological:1", "pathological:2"}

// labels returns n labels in random order; the share of a class decreases with its number.
func labels(n, classes int, seed uint64) []int {
	s := testStream(seed)
	y := make([]int, n)
	for i := range y {
		y[i] = min(s.IntN(classes), s.IntN(classes))
	}
	return y
}

func TestParsePartition(t *testing.T) {
	for _, text := range allPartitions {
		if got := must(ParsePartition(text))(t).String(); got != text {
			t.Errorf("%s reads back as %s", text, got)
		}
	}
	if (Partition{}) != must(ParsePartition("iid"))(t) {
		t.Error("the zero value is not iid")
	}
	for _, text := range []string{"", "IID", "iid:", "iid:3", "dirichlet", "dirichlet:", "dirichlet:0", "dirichlet:-1",
		"dirichlet:NaN", "dirichlet:Inf",
		"dirichlet:1e9", "dirichlet:1e-9", "dirichlet:1,", "dirichlet:1,balanced", "dirichlet:,unbalanced",
		"pathological", "pathological:0", "pathological:1.5",
		"pathological:99999999999999999999", "shards:2"} {
		_, err := ParsePartition(text)
		if err == nil || !strings.Contains(err.Error(), "partition ") || !strings.Contains(err.Error(), text) ||
			!strings.Contains(err.Error(), "want") {
			t.Errorf("%q: error %v", text, err)
		}
	}
}

// TestAssign checks that every rule uses each sample once, leaves no client empty, and depends on the seed.
func TestAssign(t *testing.T) {
	for _, text := range allPartitions {
		p := must(ParsePartition(text))(t)
		for _, c := range []struct{ samples, classes, clients int }{{1, 2, 1}, {7, 2, 7}, {100, 3, 1}, {500, 2, 31},
			{999, 10, 13}, {2100, 4, 1000}} {
			if p.shards > 0 && c.clients*p.shards > c.samples {
				continue
			}
			y := labels(c.samples, c.classes, 1)
			parts, err := p.Assign(y, c.classes, c.clients, 5)
			if err != nil {
				t.Fatalf("%s %+v: %v", text, c, err)
			}
			if len(parts) != c.clients {
				t.Fatalf("%s %+v: %d parts", text, c, len(parts))
			}
			smallest, largest := math.MaxInt, 0
			for i, part := range parts {
				if len(part) == 0 || !slices.IsSorted(part) {
					t.Errorf("%s %+v: client %d has %v", text, c, i, part)
				}
				smallest, largest = min(smallest, len(part)), max(largest, len(part))
			}
			all := slices.Concat(parts...)
			slices.Sort(all)
			for i, at := range all {
				if i != at || len(all) != len(y) {
					t.Fatalf("%s %+v: sample %d is missing or there twice", text, c, i)
				}
			}
			spread := 1 // two shards may differ in length by one
			if p.shards > 0 {
				spread = p.shards
			}
			if !p.unbalanced && largest-smallest > spread {
				t.Errorf("%s %+v: sizes from %d to %d", text, c, smallest, largest)
			}
			again, _ := p.Assign(y, c.classes, c.clients, 5)
			other, _ := p.Assign(y, c.classes, c.clients, 6)
			if digest(slices.Concat(again...)...) != digest(slices.Concat(parts...)...) {
				t.Errorf("%s %+v: not the same twice", text, c)
			}
			if c.clients > 7 && digest(slices.Concat(other...)...) == digest(slices.Concat(parts...)...) {
				t.Errorf("%s %+v: the seed plays no part", text, c)
			}
		}
	}
}

// skew returns the mean, over all clients, of the distance between a client's label shares and the label shares of all
// samples. The result is in [0, 1].
func skew(y []int, classes int, parts [][]int) float64 {
	shares := func(part []int) []float64 {
		s := make([]float64, classes)
		for _, i := range part {
			s[y[i]] += 1 / float64(len(part))
		}
		return s
	}
	common := shares(slices.Concat(parts...))
	sum := 0.0
	for _, part := range parts {
		for c, s := range shares(part) {
			sum += math.Abs(s-common[c]) / 2 / float64(len(parts))
		}
	}
	return sum
}

func TestSkewGrowsAsAlphaFalls(t *testing.T) {
	const classes, clients = 3, 40
	y := labels(8000, classes, 2)
	for _, tail := range []string{"", ",unbalanced"} {
		last := -1.0
		for _, a := range []string{"100", "1", "0.3", "0.05"} {
			text := "dirichlet:" + a + tail
			parts := must(must(ParsePartition(text))(t).Assign(y, classes, clients, 1))(t)
			s := skew(y, classes, parts)
			if s <= last {
				t.Errorf("skew %v of %s is not above that of the one before, %v", s, text, last)
			}
			last = s
		}
	}
}

func TestPathologicalShards(t *testing.T) {
	const classes, clients = 10, 50
	y := make([]int, 2000)
	for i := range y {
		y[i] = i % classes
	}
	parts := must(must(ParsePartition("pathological:2"))(t).Assign(y, classes, clients, 1))(t)
	seen := map[int]int{}
	for i, part := range parts {
		held := map[int]bool{}
		for _, at := range part {
			held[y[at]] = true
		}
		// 200 samples of each class are cut into shards of 20: no shard straddles two classes.
		if len(part) != 40 || len(held) > 2 {
			t.Errorf("client %d holds %d samples of %d classes", i, len(part), len(held))
		}
		seen[len(held)]++
	}
	if seen[2] < clients/2 {
		t.Errorf("clients by number of classes: %v, want most with 2", seen)
	}
}

// TestDirichletMoments checks that the draws have the mean and variance of a symmetric Dirichlet distribution: 1/n and
// (n-1)/(n²(nA+1)).
func TestDirichletMoments(t *testing.T) {
	const n, draws = 4, 5000
	for _, alpha := range []float64{0.001, 0.3, 1, 20} {
		mean, square := 0.0, 0.0
		for i := range draws {
			s := partitionStream(1, shareStream, i, 0)
			shares := dirichletShares(&s, alpha, n)
			sum := 0.0
			for _, x := range shares {
				sum += x
			}
			if math.Abs(sum-1) > 1e-12 {
				t.Fatalf("alpha %v: shares sum to %v", alpha, sum)
			}
			mean += shares[0] / draws
			square += shares[0] * shares[0] / draws
		}
		variance := float64(n-1) / (n * n * (n*alpha + 1))
		// The bounds are five standard errors. For the mean of the squares, the standard error is replaced by its upper
		// bound for variables in [0, 1] with the same mean.
		meanError := 5 * math.Sqrt(variance/draws)
		squareError := 5 * math.Sqrt((variance+1.0/n/n)/draws)
		if math.Abs(mean-1.0/n) > meanError || math.Abs(square-variance-1.0/n/n) > squareError {
			t.Errorf("alpha %v: mean %v and mean square %v, want %v and %v", alpha, mean, square, 1.0/n, variance+1.0/n/n)
		}
	}
}

func TestAssignFaults(t *testing.T) {
	y := labels(10, 2, 1)
	for _, c := range []struct {
		partition string
		y         []int
		clients   int
		want      []string
	}{
		{"iid", y, 0, []string{"0 clients"}},
		{"iid", y, -1, []string{"-1 clients"}},
		{"dirichlet:1", y, 11, []string{"10 samples", "11 clients"}},
		{"pathological:3", y, 4, []string{"10 samples", "4 clients", "12 shards"}},
		{"pathological:1000000", y, 10, []string{"10000000 shards"}},
		{"iid", nil, 1, []string{"0 samples", "1 clients"}},
		{"iid", []int{0, 1, 2}, 4, []string{"sample 2 has class 2", "3 samples", "4 clients"}},
	} {
		_, err := must(ParsePartition(c.partition))(t).Assign(c.y, 2, c.clients, 1)
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s over %d clients: error %v, want one with %q", c.partition, c.clients, err, want)
			}
		}
	}
}

func TestPartitionBits(t *testing.T) {
	y := labels(600, 3, 9)
	for text, want := range map[string]uint64{
		"iid":                      0x4bd30a6f0e0b2b40,
		"dirichlet:0.3":            0x7f2a1de58c9d4dd0,
		"dirichlet:0.3,unbalanced": 0xe247c6ccbc6a0020,
		"pathological:2":           0x42525b2a0847cfe0,
	} {
		parts := must(must(ParsePartition(text))(t).Assign(y, 3, 20, 1))(t)
		if got := digest(slices.Concat(parts...)...); got != want {
			t.Errorf("%s has the digest %#x, want %#x as on every processor", text, got, want)
		}
	}
}

func TestSplitIsStratified(t *testing.T) {
	var y []int
	counts := []int{500, 40, 7, 2, 1, 0}
	for c, n := range counts {
		for range n {
			y = append(y, c)
		}
	}
	s := testStream(3)
	shuffle(&s, y)
	train, test, err := Split(y, len(counts), 0.3, 1)
	if err != nil {
		t.Fatal(err)
	}
	all := slices.Concat(train, test)
	slices.Sort(all)
	for i, at := range all {
		if i != at {
			t.Fatalf("sample %d is missing or there twice", i)
		}
	}
	if len(all) != len(y) || !slices.IsSorted(train) || !slices.IsSorted(test) {
		t.Errorf("%d of %d samples, or not in order", len(all), len(y))
	}
	for c, want := range []int{150, 12, 2, 1, 0, 0} {
		got := 0
		for _, i := range test {
			if y[i] == c {
				got++
			}
		}
		if got != want {
			t.Errorf("class %d of %d samples: %d in the test part, want %d", c, counts[c], got, want)
		}
	}
	again, _, _ := Split(y, len(counts), 0.3, 1)
	other, _, _ := Split(y, len(counts), 0.3, 2)
	if !slices.Equal(train, again) || slices.Equal(train, other) {
		t.Error("the split does not follow the seed")
	}
}

func TestSplitLeavesTraining(t *testing.T) {
	train, test, err := Split([]int{0, 0, 1, 1}, 2, 0.99, 1)
	if err != nil || len(train) != 2 || len(test) != 2 {
		t.Errorf("Split = %v, %v, %v; want one of each class in both", train, test, err)
	}
}

func TestSplitFaults(t *testing.T) {
	for _, f := range []float64{0, 1, -1, math.NaN(), math.Inf(1)} {
		_, _, err := Split([]int{0, 3}, 2, f, 1)
		if err == nil || !strings.Contains(err.Error(), "want more than 0 and less than 1") ||
			!strings.Contains(err.Error(), "class 3") {
			t.Errorf("fraction %v: %v", f, err)
		}
	}
	if _, _, err := Split([]int{0, 0, 1}, 2, 0.1, 1); err == nil ||
		!strings.Contains(err.Error(), "leaves no test sample") {
		t.Errorf("too few: %v", err)
	}
}
