package experiment

import (
	"math"
	"slices"
	"strings"

	"github.com/spade-dfl/spade-edge/examples/paper/data"
	"github.com/spade-dfl/spade-edge/examples/paper/method"
)

// The comparisons. All except Longer have at most 50 rounds. The graph of every comparison is random: any two clients
// are neighbors with probability 0.3.
const (
	EqualQueries = "2a"   // Table II without noise, at equal queries
	Private8     = "2b8"  // Table II at equal queries and epsilon 8
	Private32    = "2b32" // Table II at equal queries and epsilon 32
	PrivateFree  = "2c8"  // Table II at epsilon 8, with free numbers of queries
	FreeQueries  = "2c"   // Table II without noise, with free numbers of queries
	Sensitivity  = "34"   // Tables III and IV: SPADE-DFL, by number of clients and by epsilon
	Validation   = "34v"  // the same runs as 34, scored on a part of the training set
	Longer       = "long" // SPADE-DFL without noise, with the settings of Table II and more rounds
)

// Tables lists the comparisons in execution order.
var Tables = []string{EqualQueries, Sensitivity, Private8, Private32, FreeQueries, Longer, Validation, PrivateFree}

// Partitions of Table II.
var Partitions = []string{"iid", "dirichlet:0.6", "dirichlet:0.3", "pathological:2"}

// Table III varies the number of clients at epsilon 32. Table IV varies epsilon with 100 clients.
var (
	Counts   = []int{30, 40, 50, 75, 100}
	Epsilons = []float64{4, 8, 16, 24, 32}
)

// LongerRounds lists the numbers of rounds in the comparison Longer.
var LongerRounds = []int{50, 200, 800}

// mostSeeds limits the number of seeds for two comparisons: Longer, because its differences are large, and Validation,
// because it only scores the same settings in another way.
var mostSeeds = map[string]int{Longer: 5, Validation: 10}

// MostSeeds returns the maximum number of seeds for a comparison.
func MostSeeds(table string) int {
	if most, ok := mostSeeds[table]; ok {
		return most
	}
	return math.MaxInt
}

// The number of clients in Table II, and the maximum number of rounds in all comparisons except Longer.
const (
	clients = 31
	rounds  = 50
)

// freeQueries is the largest number of losses per sample and round that a search tries in comparisons that let a method
// choose this number. The smallest is 2.
const freeQueries = 10

// tau returns the paper's number of local steps of SPADE-DFL on a data set.
func tau(dataset string) int {
	if dataset == "alzheimers" {
		return 8
	}
	return 2
}

// template returns a job with the fields that all jobs for a table and data set share.
func template(table, dataset string) Job {
	j := Job{Table: table, Dataset: dataset, Clients: clients, Graph: "er:0.3", Rounds: rounds,
		Queries: float64(1 + tau(dataset))}
	switch table {
	case Private8:
		j.Epsilon = 8
	case Private32:
		j.Epsilon = 32
	case FreeQueries:
		j.Queries = freeQueries
	case PrivateFree:
		j.Epsilon, j.Queries = 8, freeQueries
	}
	return j
}

// cells returns the jobs for a table and data set, without seeds.
func cells(table, dataset string) []Job {
	var out []Job
	j := template(table, dataset)
	switch table {
	case Sensitivity, Validation:
		j.Partition = "dirichlet:0.3"
		if dataset == "brain" {
			j.Partition += ",unbalanced"
		}
		forms := []Job{{Method: PaperForm}, {Method: Together}, {Method: Centered}, {Method: PaperForm, Accounting: "paper"},
			{Method: TrackingWalsh}, {Method: Shared}}
		if table == Validation {
			forms, j.Validate = slices.Delete(forms, 2, 4), true
		}
		for _, v := range forms {
			j.Method, j.Accounting = v.Method, v.Accounting
			j.Epsilon = 32
			for _, j.Clients = range Counts {
				out = append(out, j)
			}
			for _, j.Epsilon = range Epsilons[:len(Epsilons)-1] { // the jobs by number of clients have the last epsilon
				out = append(out, j)
			}
		}
	case Longer:
		j.Partition = mixed
		for _, j.Rounds = range LongerRounds {
			for _, j.Method = range []string{PaperForm, Together} {
				out = append(out, j)
			}
		}
	default:
		for i, partition := range Partitions {
			contenders := slices.Concat([]method.Method{paperForm}, rivals(), []method.Method{together, centered, centeredCooled})
			switch table {
			case EqualQueries:
				contenders = append(contenders, centeredWalsh, tracking, trackingWalsh)
			case Private8, Private32:
				contenders = append(contenders, trackingWalsh, shared, sharedMomentum, trustedServer, twoPointDSG)
			case PrivateFree:
				contenders = slices.Concat([]method.Method{paperForm}, rivals(), []method.Method{together, trackingWalsh, shared,
					sharedMomentum, trustedServer, twoPointDSG})
			}
			for _, m := range contenders {
				j.Method, j.Partition = m.Name(), partition
				if m.Name() == Pooled && i > 0 {
					continue
				}
				out = append(out, j)
			}
		}
	}
	for i := range out {
		out[i].Curve = table == EqualQueries
	}
	return out
}

// Pooled is the method that the paper runs on all data in one place. It has a single cell for all partitions, stored
// under the first partition.
const Pooled = "DP-SGD"

// Served lists the methods that need all data in one place or a server.
var Served = []string{Pooled, "DP-FedAvg"}

// block is the number of seeds that every table completes before any table starts further seeds.
const block = 5

// Plan lists the jobs for the given tables and data sets, for every seed from 1 to the value of seeds, in execution
// order. First come the jobs of all tables for the first block of seeds, then the remaining jobs, table by table. On
// the Alzheimer's data, each seed uses one of the five folds. For most methods, Table II at equal queries also needs
// the other folds, whose jobs come last.
func Plan(tables, sets []string, seeds int) []Job {
	var out []Job
	add := func(j Job, from, to int, fold func(seed int) int) {
		for seed := from; seed <= to; seed++ {
			j.Seed, j.Fold = uint64(seed), 0
			if j.Dataset == "alzheimers" {
				j.Fold = fold(seed)
			}
			out = append(out, j)
		}
	}
	more := func(table string, from, to int) {
		for _, set := range sets {
			for _, j := range cells(table, set) {
				last := to
				if most, ok := mostSeeds[table]; ok {
					last = min(to, most)
				}
				add(j, from, last, func(seed int) int { return seed % data.Folds })
			}
		}
	}
	first := min(block, seeds)
	for _, table := range tables {
		more(table, 1, first)
	}
	for _, table := range tables {
		more(table, first+1, seeds)
	}
	if slices.Contains(tables, EqualQueries) && slices.Contains(sets, "alzheimers") {
		for more := 1; more < data.Folds; more++ {
			for _, j := range cells(EqualQueries, "alzheimers") {
				m := j.Method
				if m == PaperForm || m == Tracking || m == TrackingWalsh || !strings.HasPrefix(m, PaperForm) {
					add(j, 1, seeds, func(seed int) int { return (seed + more) % data.Folds })
				}
			}
		}
	}
	return out
}

func (j Job) cost() float64 {
	samples := map[string]float64{"mnist": 12183, "fashion": 705, "alzheimers": 1719 * 1.3, "brain": 5708 * 2.2}[j.Dataset]
	c := samples * j.Queries * float64(j.Rounds) / rounds
	if j.Table == FreeQueries || j.Table == PrivateFree {
		c *= 0.7
	}
	return c + 500*float64(j.Clients)/31
}
