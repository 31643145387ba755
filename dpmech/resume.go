package dpmech

import "fmt"

// CheckResume decides whether a node may continue a run after a crash. saved is the number of the release in the node's
// newest durable state, or 0 if the node has saved no state. reserved is the run's last round in the ledger. marked is
// the last round that the ledger's high-water mark covers. An error means that a state was lost or rolled back: if the
// node continued, it could repeat a release with other noise, which would be a second, uncounted query of the data.
//
// The rule relies on the order of a node's steps in round k: write ledger line k, draw the noise, save state k, write
// mark k, send, write ledger line k+1. Each step is durable before the next one begins.
//
//   - marked > saved: refused. The release may have been sent, and the state with this release is lost.
//   - reserved > saved+1: refused. Line k+1 is written after state k, so a state was lost.
//   - Otherwise the node continues and sends the saved release again. If reserved = saved+1, the noise of that round
//     may have been drawn. Without a mark, nothing that depends on this noise has left the device, so drawing again has
//     no additional cost.
//
// So if only the state, the ledger lines or the mark is rolled back, no round is released twice; see "The order of
// duties" in PROOF.md. reserved < saved is valid: cool-down rounds have no ledger lines, and a run may have begun
// without a ledger.
func CheckResume(saved, reserved, marked int) error {
	switch {
	case marked > saved:
		return fmt.Errorf("dpmech: the ledger marks release %d as possibly sent, but the newest saved state is that "+
			"of release %d", marked, saved)
	case reserved > saved+1:
		return fmt.Errorf("dpmech: the ledger has reserved release %d, so the state of release %d was saved, but the "+
			"newest saved state is that of release %d", reserved, reserved-1, saved)
	}
	return nil
}
