package data

import (
	"fmt"
	"path/filepath"
	"sync"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task"
	"github.com/spade-dfl/spade-edge/examples/paper/hog"
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// Names lists the data sets, in the paper's order.
var Names = []string{"mnist", "fashion", "alzheimers", "brain"}

// Titles maps the name of each data set to its title in the paper.
var Titles = map[string]string{"mnist": "MNIST", "fashion": "Fashion-MNIST", "alzheimers": "Alzheimer's disease",
	"brain": "Brain Tumor MRI"}

// Folds is the number of parts in the cross-validation of the Alzheimer's data. The other data sets have one split per
// seed, numbered as fold 0.
const Folds = 5

// validation is the share of a training set that the search uses to score settings.
const validation = 0.2

// Source is a data set as read from its files. It is safe for concurrent use.
type Source struct {
	Name string

	train, test *task.Data // test is nil if the source has no test set
	mu          sync.Mutex
	splits      map[key]*split
}

// Split is the prepared training and test data of a run.
type Split struct {
	Train, Test *task.Data
}

type key struct {
	seed     uint64
	fold     int
	validate bool
	rows     bool
}

type split struct {
	once sync.Once
	data Split
	err  error
}

// Load reads the data set with the given name from its folder in dir.
func Load(name, dir string) (*Source, error) {
	no := false
	spec := task.Spec{Standardize: &no, Bias: &no}
	own := false // whether the data set has a separate test set
	switch name {
	case "mnist":
		spec.Source, spec.Labels, own = "idx:"+filepath.Join(dir, "mnist-6-7"), []string{"6", "7"}, true
	case "fashion":
		spec.Source, spec.Labels = "idx:"+filepath.Join(dir, "fashion-0-1"), []string{"0", "1"}
	case "alzheimers":
		spec.Source, spec.Label = "csv:"+filepath.Join(dir, "alzheimers", "alzheimers_disease_data.csv"), "Diagnosis"
		spec.Drop, spec.OneHot = []string{"PatientID", "DoctorInCharge"}, []string{"Ethnicity", "EducationLevel"}
	case "brain":
		spec.Source, own = "idx:"+filepath.Join(dir, "brain-tumor-64"), true
	default:
		return nil, fmt.Errorf("data: unknown data set %q, want one of %v", name, Names)
	}
	set, err := task.Load(spec)
	if err != nil {
		return nil, fmt.Errorf("data: %s: %w", name, err)
	}
	s := &Source{Name: name, train: set.Train, test: set.Test, splits: make(map[key]*split)}
	if !own {
		s.train, s.test = join(set.Train, set.Test), nil
	}
	if name == "brain" {
		if s.train, err = hog.Describe(s.train, 64); err != nil {
			return nil, err
		}
		if s.test, err = hog.Describe(s.test, 64); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func join(a, b *task.Data) *task.Data {
	out := *a
	out.X = append(append([]float32(nil), a.X...), b.X...)
	out.Y = append(append([]int(nil), a.Y...), b.Y...)
	return &out
}

// Split returns a training set and a test set for a seed and, if the source has folds, a fold. If validate is true,
// both sets come from the training set, and the real test set is not used. Preprocessing is fitted on the returned
// training set.
func (s *Source) Split(seed uint64, fold int, validate bool) (Split, error) {
	return s.get(key{seed, fold, validate, false})
}

// SplitRows is like [Source.Split], but for record-level privacy: the number of samples and the seed alone determine
// which samples are held out, so that changing a sample's label does not move any other sample. SplitRows holds out a
// fifth of the samples, unless the source has a separate test set. It does not use folds.
func (s *Source) SplitRows(seed uint64, validate bool) (Split, error) {
	return s.get(key{seed, 0, validate, true})
}

func (s *Source) get(k key) (Split, error) {
	if s.test != nil && !k.validate {
		k.seed = 0 // one split for all seeds
	}
	s.mu.Lock()
	made := s.splits[k]
	if made == nil {
		made = new(split)
		s.splits[k] = made
	}
	s.mu.Unlock()
	made.once.Do(func() { made.data, made.err = s.prepare(k) })
	return made.data, made.err
}

func (s *Source) prepare(k key) (Split, error) {
	train, test := s.train, s.test
	classes := func(d *task.Data) ([]int, int) {
		if k.rows {
			return make([]int, d.Len()), d.Classes
		}
		return d.Y, d.Classes
	}
	switch {
	case s.Name == "alzheimers" && k.rows, s.Name != "alzheimers" && test == nil:
		y, n := classes(train)
		in, out, err := task.Split(y, n, 0.2, k.seed)
		if err != nil {
			return Split{}, err
		}
		train, test = s.train.Select(in), s.train.Select(out)
	case s.Name == "alzheimers":
		in, out := folds(train.Y, train.Classes, k.fold, k.seed)
		train, test = s.train.Select(in), s.train.Select(out)
	}
	if k.validate {
		y, n := classes(train)
		in, out, err := task.Split(y, n, validation, k.seed+1<<32) // not the draw that selects the test set
		if err != nil {
			return Split{}, err
		}
		train, test = train.Select(in), train.Select(out)
	}
	if s.Name == "alzheimers" {
		std, err := task.FitStandardizer(train)
		if err != nil {
			return Split{}, err
		}
		return apply(train, test, func(d *task.Data) (*task.Data, error) {
			d, err := std.Apply(d)
			if err != nil {
				return nil, err
			}
			return d.WithBias(), nil
		})
	}
	pca, err := task.FitPCA(train, 10)
	if err != nil {
		return Split{}, err
	}
	return apply(train, test, pca.Apply)
}

func apply(train, test *task.Data, f func(*task.Data) (*task.Data, error)) (Split, error) {
	a, err := f(train)
	if err != nil {
		return Split{}, err
	}
	b, err := f(test)
	return Split{a, b}, err
}

// folds shuffles the samples of each class and deals them in turn to Folds parts. The result out holds part number
// fold, and the result in holds all other parts.
func folds(y []int, classes, fold int, seed uint64) (in, out []int) {
	for class := range classes {
		var members []int
		for i, c := range y {
			if c == class {
				members = append(members, i)
			}
		}
		s := rng.New(seed, rng.Address{Purpose: rng.Split, Component: uint32(class), Round: 1})
		s.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
		for i, m := range members {
			if i%Folds == fold {
				out = append(out, m)
			} else {
				in = append(in, m)
			}
		}
	}
	return in, out
}
