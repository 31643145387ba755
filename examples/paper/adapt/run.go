package adapt

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strconv"

	"github.com/spade-dfl/spade-edge/examples/adapter/frozen"
	"github.com/spade-dfl/spade-edge/examples/paper/experiment"
	"github.com/spade-dfl/spade-edge/examples/paper/method"
	"github.com/spade-dfl/spade-edge/examples/paper/sweep"
)

// study holds the task of a comparison and the results that are already in its folder.
type study struct {
	task
	source      *frozen.Source
	runs, tries *sweep.Table
}

// Run searches for settings, performs the runs for every seed from 1 to the value of seeds, and writes README.md to the
// folder out. dir is the folder with the MNIST files; if it is empty, MNIST comes from the module GoMNIST. Run does not
// repeat runs whose results are in out.
func Run(ctx context.Context, dir, out string, seeds int, log io.Writer) error {
	t := complete
	t.seeds = seeds
	return t.run(ctx, dir, out, log)
}

func (t task) run(ctx context.Context, dir, out string, log io.Writer) error {
	source, err := frozen.Open(t.network, dir, t.clean)
	if err != nil {
		return err
	}
	s := &study{task: t, source: source}
	key := []string{"method", "numbers", "seed"}
	if s.tries, err = sweep.Open(filepath.Join(out, "trials.csv"), 4, append(key, "trial", "accuracy", "setting")...); err != nil {
		return err
	}
	if s.runs, err = sweep.Open(filepath.Join(out, "runs.csv"), 3, append(key, "accuracy", "passes", "sent", "received", "rounds", "setting")...); err != nil {
		return err
	}
	list := contenders()
	err = sweep.Do(ctx, log, "adapter", len(list), func(i int) float64 { return map[bool]float64{false: 1, true: 2}[list[i].all] },
		func(ctx context.Context, i int) (string, error) { return s.fill(ctx, list[i]) })
	if err != nil {
		return err
	}
	page, err := s.page()
	if err != nil {
		return err
	}
	return sweep.WritePage(filepath.Join(out, "README.md"), page, s.runs, s.tries)
}

// tuning is the seed for the search for settings. No reported run uses the digits dealt with this seed.
const tuning = 0

// stage deals digits to the members with the given seed.
func (s *study) stage(seed uint64) (*stage, error) {
	own, held, err := s.source.Deal(s.members*s.each, s.held, seed, seed == tuning)
	return &stage{s.task, s.source.Base, own, held, seed}, err
}

func (c contender) key(t task, seed uint64) []string {
	return []string{c.name, strconv.Itoa(c.numbers(t)), strconv.FormatUint(seed, 10)}
}

// fill searches for a contender's setting and performs the contender's runs, unless the results are already in the
// folder.
func (s *study) fill(ctx context.Context, c contender) (note string, err error) {
	trial, err := s.search(ctx, c)
	if err != nil {
		return "", err
	}
	for seed := uint64(1); seed <= uint64(s.seeds); seed++ {
		key := c.key(s.task, seed)
		if s.runs.Rows(key...) != nil {
			continue
		}
		st, err := s.stage(seed)
		if err != nil {
			return "", err
		}
		accuracy, spent, err := st.run(ctx, c, trial)
		if err != nil {
			return "", fmt.Errorf("adapt: %v: %w", key, err)
		}
		n := int64(s.members)
		sent, received := (spent.Scalars-spent.Served)/n, spent.Served/n
		if !c.server { // a member receives as many numbers as it sends
			received = sent
		}
		note = fmt.Sprintf("%v: %.1f %%", key, accuracy)
		err = s.runs.Add(append(key, decimal(accuracy), strconv.FormatInt(spent.Queries/n, 10), strconv.FormatInt(4*sent, 10),
			strconv.FormatInt(4*received, 10), strconv.Itoa(int(trial["rounds"])), trial.String()))
		if err != nil {
			return "", err
		}
	}
	return note, nil
}

func decimal(x float64) string { return strconv.FormatFloat(x, 'f', 2, 64) }

// search tries settings on digits that no reported run uses, and returns the setting with the best accuracy.
func (s *study) search(ctx context.Context, c contender) (best method.Setting, err error) {
	st, err := s.stage(tuning)
	if err != nil {
		return nil, err
	}
	most := -1.0
	for i, trial := range experiment.Hypercube(c.space(s.task), s.trials, fmt.Sprint(c.key(s.task, tuning))) {
		key := append(c.key(s.task, tuning), strconv.Itoa(i))
		if s.tries.Rows(key...) == nil {
			accuracy, _, err := st.run(ctx, c, trial)
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if err != nil { // the model diverges with this setting
				accuracy = 0
			}
			if err := s.tries.Add(append(key, decimal(accuracy), trial.String())); err != nil {
				return nil, err
			}
		}
		accuracy, err := strconv.ParseFloat(s.tries.Rows(key...)[0][4], 64)
		if err != nil {
			return nil, fmt.Errorf("adapt: trials.csv: %w", err)
		}
		if accuracy > most {
			best, most = trial, accuracy
		}
	}
	return best, nil
}

func (s *stage) run(ctx context.Context, c contender, trial method.Setting) (accuracy float64, spent method.Spent, err error) {
	rounds, passes, setting := c.setting(s.task, trial)
	w, err := s.world(c, rounds, passes)
	if err != nil {
		return 0, spent, err
	}
	models, spent, err := method.Last(ctx, c.method, w, setting)
	if err != nil {
		return 0, spent, err
	}
	accuracy, err = s.accuracy(c, models)
	return accuracy, spent, err
}
