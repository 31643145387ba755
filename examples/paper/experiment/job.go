package experiment

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task"
	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/examples/paper/data"
	"github.com/spade-dfl/spade-edge/examples/paper/method"
	"github.com/spade-dfl/spade-edge/sdk/topology"
)

// Delta is the delta of every private run.
const Delta = 1e-5

// Job is one run. The job, the data files and the setting together determine the result.
type Job struct {
	Table     string  `json:"table"` // the comparison to which the run belongs, see [Tables]
	Dataset   string  `json:"dataset"`
	Partition string  `json:"partition"` // in the syntax of task.ParsePartition
	Clients   int     `json:"clients"`
	Graph     string  `json:"graph"`   // in the syntax of topology.Parse
	Rounds    int     `json:"rounds"`  // at most; 50 in all tables but [Longer]
	Queries   float64 `json:"queries"` // losses per sample and round, at most
	Epsilon   float64 `json:"epsilon"` // 0: no noise
	// Accounting is dpmech's name for the accounting method that defines Epsilon; empty means exact accounting (gdp).
	// With looser accounting, the same Epsilon requires more noise.
	Accounting string `json:"accounting,omitempty"`
	Method     string `json:"method"`
	Seed       uint64 `json:"seed"`
	Fold       int    `json:"fold"`
	Validate   bool   `json:"validate,omitempty"` // scored on a part of the training set
	Curve      bool   `json:"-"`                  // whether to record the accuracy after every round
}

// Result is the result of a job. Accuracies are in percent, on the test set.
type Result struct {
	Job
	Setting method.Setting `json:"setting"`

	Accuracy float64 `json:"accuracy"` // mean over the clients, each with its model after the last round
	Network  float64 `json:"network"`  // of the clients' average model, which no device has
	// The following scores exist only for SPADE-DFL. They are the accuracies of further models that a client gets
	// without additional queries or privacy cost: the mean of its releases and, after [Cooldown] rounds of pure
	// consensus, both the last release and the mean of the releases.
	Averaged       float64 `json:"averaged,omitempty"`
	Cooled         float64 `json:"cooled,omitempty"`
	CooledAveraged float64 `json:"cooled_averaged,omitempty"`

	Losses  int64     `json:"losses"`          // losses asked for, by all clients
	Scalars int64     `json:"scalars"`         // numbers sent, by all clients
	Seconds float64   `json:"seconds"`         // wall time, with other runs in parallel
	Curve   []float64 `json:"curve,omitempty"` // Accuracy after each round, with three decimals
}

// Cooldown is the number of rounds of pure consensus that may follow a run.
const Cooldown = 20

// Lab holds the data sets and the methods. It is safe for concurrent use.
type Lab struct {
	dir     string
	mu      sync.Mutex
	sources map[string]*data.Source
}

// NewLab returns a lab for the data sets in the folder dir. Each data set is read when it is first used.
func NewLab(dir string) *Lab { return &Lab{dir: dir, sources: make(map[string]*data.Source)} }

// Source returns the data set with the given name.
func (l *Lab) Source(name string) (*data.Source, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.sources[name]; s != nil {
		return s, nil
	}
	s, err := data.Load(name, l.dir)
	if err == nil {
		l.sources[name] = s
	}
	return s, err
}

// world returns the world in which a job's method runs, and the model that scores the test samples.
func (l *Lab) world(j Job) (*method.World, *task.Model, error) {
	source, err := l.Source(j.Dataset)
	if err != nil {
		return nil, nil, err
	}
	split, err := source.Split(j.Seed, j.Fold, j.Validate)
	if err != nil {
		return nil, nil, err
	}
	train := split.Train
	p, err := task.ParsePartition(j.Partition)
	if err != nil {
		return nil, nil, err
	}
	parts, err := p.Assign(train.Y, train.Classes, j.Clients, j.Seed)
	if err != nil {
		return nil, nil, err
	}
	w := &method.World{Rounds: j.Rounds, Seed: j.Seed, Queries: j.Queries}
	if w.Graph, err = topology.Parse(j.Graph, len(parts), j.Seed); err != nil {
		return nil, nil, err
	}
	for _, part := range parts {
		oracle := task.NewSoftmax(train.Select(part))
		w.Dim = oracle.Dim()
		w.Clients = append(w.Clients, method.Client{Oracle: oracle, Samples: len(part)})
	}
	if j.Epsilon > 0 {
		epsilon, err := j.exact()
		if err != nil {
			return nil, nil, err
		}
		w.Privacy = &method.Privacy{Epsilon: epsilon, Delta: Delta}
	}
	return w, task.NewSoftmax(split.Test), nil
}

// exact returns the epsilon that exact accounting states for the noise that the job's own accounting requires.
func (j Job) exact() (float64, error) {
	if j.Accounting == "" {
		return j.Epsilon, nil
	}
	var acc dpmech.Accounting
	if err := acc.UnmarshalText([]byte(j.Accounting)); err != nil {
		return 0, err
	}
	rho, err := acc.MaxRho(j.Epsilon, Delta)
	return dpmech.GDP.Epsilon(rho, Delta), err
}

// Run runs a job with a setting, which has a value for each parameter that [Lab.space] lists.
func (l *Lab) Run(ctx context.Context, j Job, setting method.Setting) (Result, error) {
	m, err := methodOf(j.Method)
	if err != nil {
		return Result{}, err
	}
	w, test, err := l.world(j)
	if err != nil {
		return Result{}, err
	}
	s := j.adapt(w, setting)
	r := Result{Job: j, Setting: setting}
	start := time.Now()
	score := func(models [][]float32) float64 {
		sum := 0.0
		for _, x := range models {
			sum += test.Accuracy(x)
		}
		return 100 * sum / float64(len(models))
	}
	each := func(round int, models [][]float32) error {
		if round != w.Rounds && !j.Curve {
			return nil
		}
		a := score(models)
		if j.Curve && round <= w.Rounds {
			r.Curve = append(r.Curve, math.Round(a*1e3)/1e3)
		}
		if round == w.Rounds {
			r.Accuracy, r.Network = a, 100*test.Accuracy(method.Mean(models))
		}
		return nil
	}
	var spent method.Spent
	if spade, ok := m.(method.Spade); ok {
		spade.Cooldown = Cooldown
		spent, err = spade.Trace(ctx, w, s, func(round int, last, averaged [][]float32) error {
			switch round {
			case w.Rounds:
				r.Averaged = score(averaged)
			case w.Rounds + Cooldown:
				r.Cooled, r.CooledAveraged = score(last), score(averaged)
			}
			if round > w.Rounds {
				return nil
			}
			return each(round, last)
		})
		if !spade.Shared { // the paper's form has no cool-down
			spent.Scalars = spent.Scalars / int64(w.Rounds+Cooldown) * int64(w.Rounds)
		}
	} else {
		spent, err = m.Run(ctx, w, s, each)
	}
	if err != nil {
		return r, fmt.Errorf("experiment: %s on %s, %s, seed %d: %w", j.Method, j.Dataset, j.Partition, j.Seed, err)
	}
	r.Losses, r.Scalars, r.Seconds = spent.Queries, spent.Scalars, math.Round((time.Since(start).Seconds())*1e3)/1e3
	if math.IsNaN(r.Accuracy) || math.IsNaN(r.Network) {
		return r, fmt.Errorf("experiment: %s on %s: the model does not match the test data", j.Method, j.Dataset)
	}
	return r, nil
}

// Methods lists all methods: the rivals, SPADE-DFL in the paper's form, its variants, and two references, in this
// order.
func Methods() []method.Method {
	return slices.Concat(rivals(), []method.Method{paperForm, centered, centeredCooled, together, centeredWalsh, tracking,
		trackingWalsh, shared, sharedMomentum, trustedServer, twoPointDSG})
}

// The paper's form of SPADE-DFL, its variants, and two references. The references are trustedServer, which is DP-FedAvg
// as published, with a server that sees every update and adds the noise, and 2P-DSG, a form of DP-FedAvg without a
// server. After each release, the variant sharedMomentum makes at least twice as many mixing rounds as the variant
// named shared.
var (
	paperForm      = method.Spade{}
	centered       = method.Spade{Centered: true}
	centeredCooled = method.Spade{Centered: true, Cooldown: Cooldown}
	together       = method.Spade{Centered: true, Averaged: true, Cooldown: Cooldown}
	centeredWalsh  = method.Spade{Centered: true, Walsh: true, Cooldown: Cooldown}
	tracking       = method.Spade{Tracking: true, Cooldown: Cooldown}
	trackingWalsh  = method.Spade{Tracking: true, Walsh: true, Cooldown: Cooldown}
	shared         = method.Spade{Tracking: true, Walsh: true, Cooldown: Cooldown, Shared: true}
	sharedMomentum = method.Spade{Tracking: true, Walsh: true, Momentum: true, Mixing: 19, Cooldown: Cooldown,
		Shared: true}
	trustedServer = method.DPFedAvg{Central: true}
	twoPointDSG   = method.TwoPointDSG{}

	PaperForm, Centered, CenteredCooled, Together = paperForm.Name(), centered.Name(), centeredCooled.Name(),
		together.Name()
	CenteredWalsh, Tracking, TrackingWalsh = centeredWalsh.Name(), tracking.Name(), trackingWalsh.Name()
	Shared, SharedMomentum                 = shared.Name(), sharedMomentum.Name()
	TrustedServer, TwoPointDSG             = trustedServer.Name(), twoPointDSG.Name()
)

func methodOf(name string) (method.Method, error) {
	for _, m := range Methods() {
		if m.Name() == name {
			return m, nil
		}
	}
	return nil, fmt.Errorf("experiment: unknown method %q", name)
}

func rivals() []method.Method { return method.Rivals() }
