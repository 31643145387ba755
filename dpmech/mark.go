package dpmech

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// mark is the content of the file beside a ledger: the newest line when it was written, and which of the lines up to there have
// a release that was never sent, because a crash came between line and mark. All others up to there may have been sent, and none
// behind. Programs that marked a line when they wrote it have no such list.
type mark struct {
	Head
	Unsent []int `json:"unsent,omitempty"` // ascending
}

// markPath returns where the mark of a ledger is.
func markPath(ledger string) string { return ledger + ".mark" }

// readMark returns the mark of the ledger at a path, nil if it has none.
func readMark(ledger string) (*mark, error) {
	data, err := os.ReadFile(markPath(ledger))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("dpmech: mark of a ledger: %w", err)
	}
	m, err := parseMark(data)
	if err != nil {
		return nil, fmt.Errorf("dpmech: %s, the mark of a ledger, is damaged: %w; bring it back from a copy", markPath(ledger), err)
	}
	return m, nil
}

func parseMark(data []byte) (*mark, error) {
	var m mark
	if err := decodeJSON(data, &m); err != nil {
		return nil, err
	}
	if again, err := json.Marshal(m); err != nil || !bytes.Equal(again, bytes.TrimSpace(data)) {
		return nil, errors.New("not as it was written")
	}
	return &m, m.validate()
}

// validate reports every field of m that no mark can have.
func (m mark) validate() error {
	errs := []error{m.Head.validate()}
	for i, seq := range m.Unsent {
		if seq < 1 || seq > m.Seq || i > 0 && seq <= m.Unsent[i-1] {
			errs = append(errs, fmt.Errorf("dpmech: unsent has %d in place %d, want numbers of 1..%d in ascending order", seq, i, m.Seq))
			break
		}
	}
	return errors.Join(errs...)
}

// validate reports every field of h that no ledger can have.
func (h Head) validate() error {
	errs := []error{validHex("ledger id", h.ID, 16), validHex("ledger hash", h.Hash, sha256.Size)}
	if h.Seq < 0 {
		errs = append(errs, fmt.Errorf("dpmech: ledger seq is %d, want 0 or more", h.Seq))
	}
	return errors.Join(errs...)
}

// CheckKept decides whether a node may go on with a run from what it finds after a crash: kept is the release of its newest
// durable state, 0 for none; reserved is [Ledger.Last] and marked [Ledger.Marked]. An error means that a state was lost or set
// back, and that going on could make a release a second time, with other noise, which would be a second look at the data.
//
// The rule rests on the order in which a node works: line k, draw, state k, mark k, send, and only then line k+1; each is durable
// before the next begins. There are three cases.
//
//   - marked > kept: refused. The release may have been sent, and the state that could send the same bytes again is gone.
//   - reserved > kept+1: refused. Line k+1 is written after state k, so a state was lost. (Line k+1 is written after mark k as well:
//     this case finds what the one before would find if the mark had not been set back.)
//   - Otherwise the node goes on. What is kept is sent again as it is. If reserved = kept+1, the noise of that round may have been
//     drawn, and a state with it may have been written and lost. But marked <= kept, so the mark of the round was never durable,
//     and sending begins after that: no byte that depends on the draw has left the device, and a fresh draw is the first one
//     that anybody sees. It costs nothing more, since the line is there.
//
// So with one of the three files set back, and the other two as they were, no round is looked at twice: state lost, the first two
// cases; mark lost, the state is true; line lost, [OpenLedger] and [Ledger.Contains] refuse what the mark and the state know of,
// and a line that neither knows of belongs to no release that was sent. reserved < kept is no loss: cool-down rounds have no
// lines, and a run may have had no ledger when it began.
func CheckKept(kept, reserved, marked int) error {
	switch {
	case marked > kept:
		return fmt.Errorf("dpmech: release %d is marked, it may have been sent, and the newest state is of release %d", marked, kept)
	case reserved > kept+1:
		return fmt.Errorf("dpmech: release %d is reserved, which is done after release %d is kept, and the newest state is of release %d", reserved, reserved-1, kept)
	}
	return nil
}

// replaceFile gives a file a new content, durably: after a crash it has the old one or the new one.
func replaceFile(path string, content []byte) error {
	temp := path + ".tmp"
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if _, err = f.Write(content); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Rename(temp, path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}
