package dpmech

import (
	"strings"
	"testing"
)

// TestCheckResume checks that, in every state of a run's first three rounds, CheckResume decides as "The order of
// duties" in PROOF.md requires. A node must be able to continue after a crash if its disk keeps confirmed writes. After
// a rollback of one file, it may continue only if the remaining files show every release that it has sent.
func TestCheckResume(t *testing.T) {
	type disk struct{ saved, reserved, marked int }
	history := []disk{{}} // the disk after each duty; a marked release counts as sent
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
			// Here, the state was rolled back. If the node continues, it repeats release old.saved+1 with new noise,
			// which is allowed only if this release was never sent.
			if err := CheckResume(old.saved, d.reserved, d.marked); (err == nil) != (d.marked <= old.saved) {
				t.Errorf("state %d beside %+v: %v", old.saved, d, err)
			}
			// Here, the mark was rolled back. The state is intact.
			if err := CheckResume(d.saved, d.reserved, old.marked); err != nil {
				t.Errorf("mark %d beside %+v: %v", old.marked, d, err)
			}
		}
	}
	// Cool-down rounds have no lines in the ledger, and a ledger may be added later.
	for _, d := range []disk{{saved: 9, reserved: 6, marked: 6}, {saved: 3}} {
		if err := CheckResume(d.saved, d.reserved, d.marked); err != nil {
			t.Errorf("%+v: %v", d, err)
		}
	}
	for _, c := range []struct {
		disk
		want string
	}{
		{disk{0, 1, 1}, "the ledger marks release 1 as possibly sent, but the newest saved state is that of release 0"},
		{disk{1, 3, 1}, "has reserved release 3"},
		{disk{0, 2, 0}, "has reserved release 2"},
	} {
		if err := CheckResume(c.saved, c.reserved, c.marked); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.disk, err, c.want)
		}
	}
}
