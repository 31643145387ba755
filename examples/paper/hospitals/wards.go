package hospitals

import (
	"strings"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task"
	"github.com/spade-dfl/spade-edge/dpmech"
)

// wards is the number of clients per hospital in the table rows that divide each hospital into wards.
const wards = 3

func (c cell) wards() bool { return strings.HasPrefix(c.name, warded) }

// divide deals each hospital's training patients to its wards at random. Ward sizes differ by at most one. The wards of
// a hospital are consecutive in the result, and each ward gets all of the hospital's held-out patients.
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

// perWard returns the epsilon per ward for which all wards of a hospital together cost the given epsilon. The costs add
// up, because each ward releases models with its own local noise.
func perWard(epsilon float64) (float64, error) {
	rho, err := dpmech.GDP.MaxRho(epsilon, delta)
	return dpmech.GDP.Epsilon(rho/wards, delta), err
}

// perHospital is the inverse of perWard: it returns the epsilon of a whole hospital for a given epsilon per ward.
func perHospital(epsilon float64) (float64, error) {
	rho, err := dpmech.GDP.MaxRho(epsilon, delta)
	return dpmech.GDP.Epsilon(rho*wards, delta), err
}

// judgeWards returns, for each hospital, the mean score of its wards' models on the hospital's held-out patients.
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
