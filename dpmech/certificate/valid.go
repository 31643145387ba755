package certificate

import (
	"encoding/hex"
	"fmt"
	"time"

	"github.com/spade-dfl/spade-edge/dpmech/internal/faults"
)

// validName returns an error if s is not a valid name for a run, a member or a data set.
func validName(what, s string) error { return faults.Text(what, s, 200) }

func validHex(what, s string, size int) error {
	if b, err := hex.DecodeString(s); err != nil || len(b) != size || hex.EncodeToString(b) != s {
		return fmt.Errorf("dpmech: %s is %q, want %d hexadecimal digits", what, s, 2*size)
	}
	return nil
}

func validTime(what, s string) error {
	if _, err := time.Parse(time.RFC3339, s); err != nil {
		return fmt.Errorf("dpmech: %s is %q, want a time such as 2006-01-02T15:04:05Z", what, s)
	}
	return nil
}
