package state

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spade-dfl/spade-edge/dpmech"
)

// highWater is the content of the file beside a ledger, its high-water mark: the newest line when it was written, and
// which of the lines up to there have a release that was never sent, because a crash came between line and mark. All
// others up to there may have been sent, and none behind. Programs that marked a line when they wrote it have no such
// list.
type highWater struct {
	dpmech.Head
	Unsent []int `json:"unsent,omitempty"` // ascending
}

// markPath returns where the high-water mark of a ledger is.
func markPath(ledger string) string { return ledger + ".mark" }

// readMark returns the high-water mark of the ledger at a path, nil if it has none.
func readMark(ledger string) (*highWater, error) {
	data, err := os.ReadFile(markPath(ledger))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("state: mark of a ledger: %w", err)
	}
	m, err := parseMark(data)
	if err != nil {
		return nil, fmt.Errorf("state: %s, the mark of a ledger, is damaged: %w; bring it back from a copy",
			markPath(ledger), err)
	}
	return m, nil
}

func parseMark(data []byte) (*highWater, error) {
	var m highWater
	if err := exactJSON(bytes.TrimSpace(data), &m); err != nil {
		return nil, err
	}
	err := m.Head.Validate()
	for i, seq := range m.Unsent {
		if seq < 1 || seq > m.Seq || i > 0 && seq <= m.Unsent[i-1] {
			const text = "unsent has %d in place %d, want numbers of 1..%d in ascending order"
			return nil, errors.Join(err, fmt.Errorf(text, seq, i, m.Seq))
		}
	}
	return &m, err
}
