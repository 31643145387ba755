package flamby

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spade-dfl/spade-edge/examples/paper/stat"
	"github.com/spade-dfl/spade-edge/examples/paper/sweep"
)

var (
	epsilons = []float64{4, 1, 0.5, 0.1}
	deltas   = []float64{1e-4, 1e-5}
)

// Names of the rows of both tables.
const (
	agreed   = "agreed values"
	together = "agreed values, noise shared by pairs"
	each     = "each client's own standardization"
)

// header has the columns of runs.csv.
var header = []string{"task", "row", "epsilon", "delta", "seed", "clients", "pooled", "rounds", "tau", "queries", "bytes", "seconds"}

// command is one call of simulate, which makes the runs of a row, one for each seed.
type command struct {
	row            string
	epsilon, delta float64 // 0: no noise
	flags          []string
}

// commands lists the calls for each task.
func commands() (all []command) {
	for _, row := range []string{agreed, each} {
		all = append(all, command{row, 0, 0, []string{"-non-private"}})
	}
	for _, delta := range deltas {
		for _, row := range []string{agreed, each, together} {
			for _, epsilon := range epsilons {
				flags := []string{"-unit", "record", "-epsilon", fmt.Sprint(epsilon), "-delta", fmt.Sprint(delta)}
				if row == together {
					flags = append(flags, "-colluders", "auto")
				}
				all = append(all, command{row, epsilon, delta, flags})
			}
		}
	}
	return all
}

// job is a task of FLamby.
type job struct {
	name     string
	f, own   files
	flags    []string // of fit, and of simulate without a task
	fit      []string // further flags of fit
	measured func(r *result) (clients []float64, pooled float64)
}

// result has what simulate -json says of a run.
type result struct {
	Rounds  int
	Tau     int
	Seed    uint64
	Queries int64
	Seconds float64
	Bytes   int64 `json:"bytes_sent"`
	Score   struct{ Mean float64 }
	Files   []struct{ Score *float64 }
}

// Run makes the runs that the folder out does not have yet, with seeds from 1 to the value of seeds, and writes runs.csv
// and README.md there. data is the folder of the data sets, root that of the module with the program, and usual the table of
// usual values of the hospitals.
func Run(ctx context.Context, data, root, usual, out string, seeds int, log io.Writer) error {
	if seeds < 2 {
		return fmt.Errorf("flamby: found %d seeds, want at least 2, because a single seed has no spread", seeds)
	}
	dir, err := os.MkdirTemp("", "flamby")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "spade-edge")
	build := exec.CommandContext(ctx, "go", "build", "-o", program, "./cmd/spade-edge")
	build.Dir, build.Stderr = root, log
	if err := build.Run(); err != nil {
		return fmt.Errorf("flamby: building the program: %w", err)
	}
	jobs, err := jobsOf(data, usual, dir)
	if err != nil {
		return fmt.Errorf("flamby: %w", err)
	}
	runs, err := sweep.Open(filepath.Join(out, "runs.csv"), 5, header...)
	if err != nil {
		return err
	}
	for _, j := range jobs {
		if err := j.prepare(ctx, program, dir); err != nil {
			return err
		}
		for _, c := range commands() {
			if err := j.simulate(ctx, program, dir, c, seeds, runs); err != nil {
				return err
			}
			fmt.Fprintf(log, "%s, %s, delta %v: done\n", j.name, c.row, c.delta)
		}
		for _, r := range rivals() {
			if err := j.rival(ctx, r, dir, seeds, runs); err != nil {
				return err
			}
			fmt.Fprintf(log, "%s, %s: done\n", j.name, r.name)
		}
	}
	if err := runs.Sort(); err != nil {
		return err
	}
	text, err := page(runs, seeds)
	if err != nil {
		return err
	}
	return sweep.WritePage(filepath.Join(out, "README.md"), text, runs)
}

func jobsOf(data, usual, dir string) ([]job, error) {
	hf, ho, err := hearts(data, usual, dir)
	if err != nil {
		return nil, err
	}
	cf, co, err := cancers(data, dir)
	if err != nil {
		return nil, err
	}
	return []job{
		{heartTask, hf, ho, []string{"-label", "ill", "-onehot", "cp,restecg"}, []string{"-missing", "indicator"},
			func(r *result) (clients []float64, pooled float64) {
				for _, f := range r.Files {
					clients = append(clients, *f.Score)
				}
				return clients, r.Score.Mean
			}},
		{cancerTask, cf, co, []string{"-survival", "T,E"}, []string{"-scale", "age_at_index:3"},
			func(r *result) (clients []float64, pooled float64) {
				for _, f := range r.Files {
					clients = append(clients, 100**f.Score)
				}
				return clients, 100 * r.Score.Mean
			}},
	}, nil
}

func (j job) task(dir string) string { return filepath.Join(dir, j.name+"-task.json") }

// prepare fits the preprocessing to the table of usual values.
func (j job) prepare(ctx context.Context, program, dir string) error {
	args := append([]string{"fit", "-data", "csv:" + j.f.usual, "-test-fraction", "0", "-fitted-on", "a table of usual values that describes nobody",
		"-out", j.task(dir)}, append(j.flags, j.fit...)...)
	_, err := call(ctx, program, args)
	return err
}

// simulate makes the runs of a command whose seeds the table does not have, all at once.
func (j job) simulate(ctx context.Context, program, dir string, c command, seeds int, runs *sweep.Table) error {
	key := func(seed uint64) []string {
		return []string{j.name, c.row, fmt.Sprint(c.epsilon), fmt.Sprint(c.delta), fmt.Sprint(seed)}
	}
	missing := false
	for seed := range seeds {
		missing = missing || len(runs.Rows(key(uint64(seed+1))...)) == 0
	}
	if !missing {
		return nil
	}
	f, how := j.f, []string{"-task", j.task(dir)}
	if c.row == each {
		f, how = j.own, append([]string{"-standardize=false"}, j.flags...)
	}
	args := []string{"simulate", "-json", "-seeds", fmt.Sprintf("1..%d", seeds), "-data", "csv:" + strings.Join(f.train, ","), "-test",
		strings.Join(f.test, ",")}
	text, err := call(ctx, program, append(append(args, how...), c.flags...))
	if err != nil {
		return err
	}
	var all struct{ Runs []*result }
	if err := json.Unmarshal(text, &all); err != nil {
		return fmt.Errorf("flamby: simulate: %w", err)
	} else if len(all.Runs) != seeds {
		return fmt.Errorf("flamby: simulate made %d runs, want %d", len(all.Runs), seeds)
	}
	for _, r := range all.Runs {
		clients, pooled := j.measured(r)
		k := key(r.Seed)
		runs.Drop(k...)
		row := append(k, fmt.Sprintf("%.4f", stat.Mean(clients)), fmt.Sprintf("%.4f", pooled), fmt.Sprint(r.Rounds), fmt.Sprint(r.Tau), fmt.Sprint(r.Queries),
			fmt.Sprint(r.Bytes), fmt.Sprintf("%.1f", r.Seconds))
		if err := runs.Add(row); err != nil {
			return err
		}
	}
	return nil
}

func call(ctx context.Context, program string, args []string) ([]byte, error) {
	var out, log bytes.Buffer
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stdout, cmd.Stderr = &out, &log
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("flamby: spade-edge %s: %w\n%s", strings.Join(args, " "), err, log.Bytes())
	}
	return out.Bytes(), nil
}
