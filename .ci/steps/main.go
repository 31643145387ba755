// Command steps compares the program's default step size with other step sizes, on ten tasks without noise. For each
// task, it prints the mean accuracy over seeds, in percent, at 1/4 to 16 times the default, and the difference between
// the best of these accuracies and the accuracy at the default. It then prints the accuracy of two private runs with
// default settings. It fails if the difference is more than 0.5 points on any task or more than 0.2 points on average,
// or if a private run misses its goal.
//
//	go run ./.ci/steps                 all tasks, in about 20 minutes on two cores
//	go run ./.ci/steps Alzheimer       the tasks with this word in their names
//	go run ./.ci/steps -private        only the private runs
//
// Run it from the root of the module. It needs the data sets in ../shared/data, or in the folder given with -data.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// times are the multiples of the default step size that are compared. They include 1.
var times = []float64{0.25, 0.5, 1, 2, 4, 8, 16}

// mostLost is the maximum loss of accuracy, in points, that the default step size may cause on one task; meanLost is
// the maximum of the mean loss over all tasks.
const mostLost, meanLost = 0.5, 0.2

func main() {
	data := flag.String("data", "../shared/data", "the `folder` of the data sets")
	private := flag.Bool("private", false, "only the private runs")
	seeds := flag.String("seeds", "1..3", "the `seeds` of the runs without noise")
	noises := flag.String("private-seeds", "1..8", "the `seeds` of the private runs")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *data, *seeds, *noises, *private, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "steps:", err)
		os.Exit(1)
	}
}

// lab builds the program in a temporary folder and runs it.
type lab struct {
	ctx          context.Context
	dir, program string
	desks        chan struct{} // limits the number of concurrent runs: each run holds one element
}

func run(ctx context.Context, data, seeds, noises string, onlyPrivate bool, words []string) error {
	dir, err := os.MkdirTemp("", "steps")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	l := &lab{ctx: ctx, dir: dir, program: filepath.Join(dir, "spade-edge"), desks: make(chan struct{}, min(2, runtime.NumCPU()))}
	if text, err := exec.CommandContext(ctx, "go", "build", "-o", l.program, "./cmd/spade-edge").CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w: %s", err, text)
	}
	open, private, err := l.tasks(data)
	if err != nil {
		return err
	}
	named := func(name string) bool {
		return len(words) == 0 || slices.ContainsFunc(words, func(w string) bool { return strings.Contains(name, w) })
	}
	open = slices.DeleteFunc(open, func(t task) bool { return onlyPrivate || !named(t.name) })
	private = slices.DeleteFunc(private, func(g gate) bool { return !named(g.name) })
	if len(open)+len(private) == 0 {
		return fmt.Errorf("no task has a name that contains any of %q", words)
	}
	return errors.Join(l.search(open, seeds), l.protect(private, noises))
}

func (l *lab) search(open []task, seeds string) error {
	if len(open) == 0 {
		return nil
	}
	fmt.Print("| no noise, seeds ", seeds, " | default step |")
	for _, x := range times {
		fmt.Printf(" %gx |", x)
	}
	fmt.Println(" lost |\n|" + strings.Repeat(" --- |", len(times)+3))
	began, sum := time.Now(), 0.0
	var faults []error
	for _, t := range open {
		args := append([]string{"-non-private", "-seeds", seeds}, t.args...)
		first, err := l.simulate(args...)
		if err != nil {
			return err
		}
		scores, errs := make([]float64, len(times)), make([]error, len(times))
		var runs sync.WaitGroup
		for i, x := range times {
			runs.Go(func() {
				if x == 1 {
					scores[i] = first.score()
					return
				}
				eta := strconv.FormatFloat(x*first.Runs[0].Chosen.Eta, 'g', -1, 64)
				s, err := l.simulate(append(args, "-eta", eta)...)
				if errs[i] = err; err == nil {
					scores[i] = s.score()
				}
			})
		}
		runs.Wait()
		if err := errors.Join(errs...); err != nil {
			return err
		}
		lost := slices.Max(scores) - first.score()
		sum += lost
		if lost > mostLost {
			faults = append(faults, fmt.Errorf("%s: accuracy with the default step is %.2f points below the accuracy "+
				"with the best step, want at most %v", t.name, lost, mostLost))
		}
		fmt.Printf("| %s | %g |", t.name, first.Runs[0].Chosen.Eta)
		for _, x := range scores {
			fmt.Printf(" %.2f |", x)
		}
		fmt.Printf(" %.2f |\n", lost)
	}
	mean := sum / float64(len(open))
	fmt.Printf("\nlost in the mean of %d tasks: %.2f (%.0f s)\n\n", len(open), mean, time.Since(began).Seconds())
	if mean > meanLost {
		faults = append(faults, fmt.Errorf("on average, accuracy with the default step is %.2f points below the "+
			"accuracy with the best step, want at most %v", mean, meanLost))
	}
	return errors.Join(faults...)
}

func (l *lab) protect(private []gate, seeds string) error {
	var faults []error
	for _, g := range private {
		s, err := l.simulate(append([]string{"-epsilon", "8", "-colluders", "1", "-seeds", seeds}, g.args...)...)
		if err != nil {
			return err
		}
		fmt.Printf("%s, -epsilon 8 -colluders 1, seeds %s: %.2f, want at least %v\n", g.name, seeds, s.score(), g.least)
		if s.score() < g.least {
			faults = append(faults, fmt.Errorf("%s with noise: accuracy is %.2f, want at least %v",
				g.name, s.score(), g.least))
		}
	}
	return errors.Join(faults...)
}

// sweep has the required fields of the JSON that simulate prints for several seeds.
type sweep struct {
	Runs []struct {
		Score struct {
			Mean float64 `json:"mean"`
		} `json:"score"`
		Chosen struct {
			Eta float64 `json:"eta"`
		} `json:"chosen"`
		Files []struct {
			Score float64 `json:"score"`
		} `json:"files"`
	} `json:"runs"`
}

// score returns the mean score over runs and clients. If clients have held-out data, it is the mean of their scores on
// this data.
func (s *sweep) score() (mean float64) {
	for _, r := range s.Runs {
		accuracy := r.Score.Mean
		if len(r.Files) > 0 {
			accuracy = 0
			for _, f := range r.Files {
				accuracy += f.Score / float64(len(r.Files))
			}
		}
		mean += accuracy / float64(len(s.Runs))
	}
	return mean
}

func (l *lab) simulate(args ...string) (*sweep, error) {
	l.desks <- struct{}{}
	defer func() { <-l.desks }()
	text, err := l.do(append([]string{"simulate", "-json"}, args...)...)
	if err != nil {
		return nil, err
	}
	var s sweep
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, err
	}
	if len(s.Runs) == 0 {
		return nil, fmt.Errorf("the output of %q has no runs, want one run for each of several seeds", args)
	}
	return &s, nil
}

func (l *lab) fit(path string, args ...string) error {
	_, err := l.do(append([]string{"fit", "-fitted-on", "the data of a comparison", "-out", path}, args...)...)
	return err
}

func (l *lab) do(args ...string) ([]byte, error) {
	c := exec.CommandContext(l.ctx, l.program, args...)
	c.Env = append(os.Environ(), "GOMAXPROCS=1") // each run uses one processor, because several runs share the machine
	text, err := c.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil, fmt.Errorf("spade-edge %s: %w: %s", strings.Join(args, " "), err, exit.Stderr)
	}
	return text, err
}
