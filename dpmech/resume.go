package dpmech

import "fmt"

// CheckResume decides whether a node may continue a run from what it finds after a crash. saved is the release of its
// newest durable state, 0 for none. reserved is the last round of the run in the ledger, and marked the last one below
// the ledger's high-water mark. An error means that a state was lost or set back: going on could make a release a
// second time with other noise, which would query the data a second time.
//
// The rule rests on the order in which a node works: ledger line k, draw, state k, mark k, send, and only then ledger
// line k+1. Each is durable before the next begins. There are three cases.
//
//   - marked > saved: refused. The release may have been sent, and the state that could send the same bytes is gone.
//   - reserved > saved+1: refused. Line k+1 is written after state k, so a state was lost. (Line k+1 is written after
//     mark k as well: this case finds what the first would find if the mark had not been set back.)
//   - Otherwise the node continues. It sends again what is saved. If reserved = saved+1, the noise of that round may
//     have been drawn, and a state with it may have been written and lost. But marked <= saved, so the mark of the
//     round was never durable, and sending begins after that. No byte that depends on the draw has left the device, and
//     a fresh draw is the first one that anybody sees. It costs nothing more, since the line is there.
//
// So with one of the three files set back and the other two as they were, no round is released twice. State lost: the
// first two cases. Mark lost: the state is right. Line lost: the ledger refuses to open or to continue a head that the
// mark or the state knows of, and a line that neither knows of belongs to no release that was sent. reserved < saved is
// no loss: cool-down rounds have no lines, and a run may have had no ledger when it began.
func CheckResume(saved, reserved, marked int) error {
	const state = "and the newest state is of release"
	switch {
	case marked > saved:
		return fmt.Errorf("dpmech: release %d is marked, it may have been sent, %s %d", marked, state, saved)
	case reserved > saved+1:
		return fmt.Errorf("dpmech: release %d is reserved, which is done after release %d is saved, %s %d",
			reserved, reserved-1, state, saved)
	}
	return nil
}
