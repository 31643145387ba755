package hospitals

import (
	"strings"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk/task"
)

// wards is the number of clients per hospital in rows that divide hospitals.
const wards = 3

func (c cell) wards() bool { return strings.HasPrefix(c.name, warded) }

// divide deals each hospital's training patients to its wards at random, in numbers that differ by at most one. The
// wards of a hospital are consecutive. Held-out patients stay with the hospital.
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

// perWard returns the epsilon for each ward's data at which all wards of a hospital together have the given epsilon.
// They release with local noise, so their costs add up.
func perWard(epsilon float64) (float64, error) {
	rho, err := dpmech.GDP.MaxRho(epsilon, delta)
	return dpmech.GDP.Epsilon(rho/wards, delta), err
}

// perHospital is the inverse: the epsilon for all of a hospital's data that results from the wards' epsilon.
func perHospital(epsilon float64) (float64, error) {
	rho, err := dpmech.GDP.MaxRho(epsilon, delta)
	return dpmech.GDP.Epsilon(rho*wards, delta), err
}

// judgeWards returns the mean score of a hospital's ward models on its held-out patients.
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
