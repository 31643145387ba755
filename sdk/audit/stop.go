package audit

import (
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/signed"
)

// stopped reports what keeps the run from having ended early as the certificate says: so many members as the fleet
// wants have not asked for that round or an earlier one, or there is a release beyond its end. m is the method of the run
// that has ended.
func (x *auditor) stopped(m sdk.Method, release int) error {
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
		b, err := hex.DecodeString(text)
		var s signed.Stop
		if err == nil {
			s, err = signed.ParseStop(b)
		}
		if err == nil && s.Member >= len(f.Members) {
			err = fmt.Errorf("it is by member %d, want 0..%d", s.Member, len(f.Members)-1)
		}
		if err == nil {
			name := f.Members[s.Member]
			err = s.Verify(signed.NewScope(f.Run, f.Hash(), name), x.keys(name))
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("stops[%d]: %w", i, err))
		} else if s.Last <= c.EndedAfter {
			asked[s.Member] = true
		}
	}
	if len(asked) < f.Stop.Members {
		errs = append(errs, fmt.Errorf("is %d, and %d members have asked for that or less, want %d", c.EndedAfter, len(asked),
			f.Stop.Members))
	}
	if last := m.Last(); release > last {
		errs = append(errs, fmt.Errorf("is %d, and release %d was made, beyond the last, %d", c.EndedAfter, release, last))
	}
	return errors.Join(errs...)
}
