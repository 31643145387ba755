package admm

import (
	"encoding/json"
	"errors"
)

// UnmarshalJSON reads one number for all rounds, or an array of one for each.
func (s *Schedule) UnmarshalJSON(text []byte) error {
	var one float64
	if json.Unmarshal(text, &one) == nil {
		*s = Schedule{one}
		return nil
	}
	var all []float64
	if json.Unmarshal(text, &all) != nil {
		return errors.New("eta or mu is not a number, nor an array of one number for each round")
	}
	*s = all
	return nil
}
