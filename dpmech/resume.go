package dpmech

import "fmt"

// CheckResume decides whether a node may continue a run from what it finds after a crash. saved is the release of its
// newest durable state, 0 for none. reserved is the last round of the run in the ledger, and marked the last one below
// the ledger's high-water mark. An error means that a state was lost or set back: going on could make a release a
// second time with other noise, which would query the data a second time.
//
// The rule rests on the order in which a node works: ledger line k, draw, state k, mark k, send, and only then ledger
// line k+1. Each is durable before the next begins.
//
//   - marked > saved: refused. The release may have been sent, and the state that could send the same bytes is gone.
//   - reserved > saved+1: refused. Line k+1 is written after state k, so a state was lost.
//   - Otherwise the node continues, and sends again what is saved. If reserved = saved+1, the noise of that round may
//     have been drawn. But it has no mark, so nothing that depends on the draw has left the device, and a fresh one
//     costs nothing more.
//
// So if one of state, lines and mark is set back, no round is released twice: see "The order of duties" in PROOF.md.
// reserved < saved is no loss: cool-down rounds have no lines, and a run may have begun without a ledger.
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
