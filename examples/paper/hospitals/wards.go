package hospitals

import (
	"strings"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk/task"
)

// wards is how many clients a hospital is in the lines that divide it.
const wards = 3

// wards reports whether each ward is a client of its own.
func (c cell) wards() bool { return strings.HasPrefix(c.name, warded) }

// divide deals each hospital's patients that are learned from out to its wards at random, in numbers that differ by one
// at most. The wards of a hospital follow each other. What is held out stays the hospital's.
func divide(sites []site, seed uint64) ([]site, error) {
	var out []site
	for _, s := range sites {
		parts, err := task.Partition{}.Assign(s.train.Y, s.train.Classes, wards, seed)
		if err != nil {
			return nil, err
		}
		for _, part := range parts {
			out = append(out, site{s.train.Select(part), s.test})
		}
	}
	return out, nil
}

// perWard returns the epsilon of each ward's own data for which all wards of a hospital together have the given one:
// they make their releases with noise of their own, so that the costs add up.
func perWard(epsilon float64) (float64, error) {
	rho, err := dpmech.GDP.MaxRho(epsilon, delta)
	return dpmech.GDP.Epsilon(rho/wards, delta), err
}

// perHospital is the other way round: what the wards' epsilon means for all of a hospital's data.
func perHospital(epsilon float64) (float64, error) {
	rho, err := dpmech.GDP.MaxRho(epsilon, delta)
	return dpmech.GDP.Epsilon(rho*wards, delta), err
}

// judgeWards says what the models of a hospital's wards are worth on its held-out patients, in the mean.
func judgeWards(sites []site, models [][]float32) ([]mark, error) {
	sum := make([]mark, len(sites))
	for k := range wards {
		var own [][]float32
		for i := range sites {
			own = append(own, models[i*wards+k])
		}
		marks, err := judge(sites, own, 0)
		if err != nil {
			return nil, err
		}
		for i, m := range marks {
			for j, v := range m {
				sum[i][j] += v / wards
			}
		}
	}
	return sum, nil
}
