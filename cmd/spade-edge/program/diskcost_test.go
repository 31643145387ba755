package program

import "testing"

// The figures of a round belong to those of the run, and a process that serves a finished run once more makes no round.
func TestWear(t *testing.T) {
	t.Parallel()
	tr := newPair(t)
	a, _ := tr.both(t)
	if a.DiskRound != a.DiskBytes/9 || a.DiskRound == 0 || a.SentRound != a.BytesSent/9 || a.SentRound == 0 {
		t.Errorf("of 9 rounds: %+v", a.Usage)
	}
	tr.edit(t, "a.json", `"resend_seconds": 0.05`, `"resend_seconds": 0.05, "linger_seconds": 0.01`)
	if again := start(t, "run", tr.path("a.json"), "-json").outcome(t); again.DiskRound != 0 || again.SentRound != 0 ||
		again.DiskBytes != 0 {
		t.Errorf("without a round: %+v", again.Usage)
	}
}
