package audit

import (
	"errors"
	"fmt"

	"github.com/spade-dfl/spade-edge/sdk/signed"
)

// stopped reports what keeps the run from having ended early as the certificate says: so many members as the fleet
// wants have not asked for that round or an earlier one.
func (x *auditor) stopped() error {
	c, f := x.c, x.fleet
	if c.EndedAfter == 0 {
		return nil
	}
	if f.Stop == nil {
		return fmt.Errorf("is %d, and the fleet does not let a run end early", c.EndedAfter)
	}
	var errs []error
	asked := map[int]bool{}
	for i, text := range c.Stops {
		var s signed.Relayed
		err := s.UnmarshalText([]byte(text))
		if err == nil && s.Member >= len(f.Members) {
			err = fmt.Errorf("it is by member %d, want 0..%d", s.Member, len(f.Members)-1)
		}
		if err == nil {
			name := f.Members[s.Member]
			err = s.Verify(signed.NewScope(f.Run, f.Hash(), name), x.keys(name))
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("stops[%d]: %w", i, err))
		} else if s.Round <= c.EndedAfter {
			asked[s.Member] = true
		}
	}
	if len(asked) < f.Stop.Members {
		errs = append(errs, fmt.Errorf("is %d, and %d members have asked for that or less, want %d", c.EndedAfter, len(asked),
			f.Stop.Members))
	}
	return errors.Join(errs...)
}
