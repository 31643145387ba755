package dpmech

import (
	"strings"
	"testing"
)

// The rule for every small case, from the order of duties itself: what a crash can leave, of disks that keep what they
// confirm, is fine, and so is the loss of one file where nothing was sent that the others do not know of.
func TestCheckResume(t *testing.T) {
	type disk struct{ saved, reserved, marked int }
	history := []disk{{}} // after each duty, and what has been sent by then is the mark
	for round := 1; round <= 3; round++ {
		d := history[len(history)-1]
		d.reserved = round
		history = append(history, d)
		d.saved = round
		history = append(history, d)
		d.marked = round
		history = append(history, d)
	}
	for now, d := range history {
		if err := CheckResume(d.saved, d.reserved, d.marked); err != nil {
			t.Errorf("after a crash, %+v: %v", d, err)
		}
		for _, old := range history[:now] {
			// The state was set back. Going on draws release old.saved+1, which is fine only if that one was never
			// sent.
			if err := CheckResume(old.saved, d.reserved, d.marked); (err == nil) != (d.marked <= old.saved) {
				t.Errorf("state %d beside %+v: %v", old.saved, d, err)
			}
			// The mark was set back. The state is there.
			if err := CheckResume(d.saved, d.reserved, old.marked); err != nil {
				t.Errorf("mark %d beside %+v: %v", old.marked, d, err)
			}
		}
	}
	// cool-down rounds; a ledger that comes later
	for _, d := range []disk{{saved: 9, reserved: 6, marked: 6}, {saved: 3}} {
		if err := CheckResume(d.saved, d.reserved, d.marked); err != nil {
			t.Errorf("%+v: %v", d, err)
		}
	}
	for _, c := range []struct {
		disk
		want string
	}{
		{disk{0, 1, 1}, "release 1 is marked, it may have been sent, and the newest state is of release 0"},
		{disk{1, 3, 1}, "release 3 is reserved"},
		{disk{0, 2, 0}, "release 2 is reserved"},
	} {
		if err := CheckResume(c.saved, c.reserved, c.marked); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.disk, err, c.want)
		}
	}
}
