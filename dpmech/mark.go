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

// markPath returns where the mark of a ledger is.
func markPath(ledger string) string { return ledger + ".mark" }

// readMark returns the last acknowledged state of the ledger at a path, nil if it has no mark.
func readMark(ledger string) (*Head, error) {
	data, err := os.ReadFile(markPath(ledger))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("dpmech: mark of a ledger: %w", err)
	}
	h, err := parseMark(data)
	if err != nil {
		return nil, fmt.Errorf("dpmech: %s, the mark of a ledger, is damaged: %w; bring it back from a copy", markPath(ledger), err)
	}
	return h, nil
}

func parseMark(data []byte) (*Head, error) {
	var h Head
	if err := decodeJSON(data, &h); err != nil {
		return nil, err
	}
	if again, err := json.Marshal(h); err != nil || !bytes.Equal(again, bytes.TrimSpace(data)) {
		return nil, errors.New("not as it was written")
	}
	return &h, h.validate()
}

// validate reports every field of h that no ledger can have.
func (h Head) validate() error {
	errs := []error{validHex("ledger id", h.ID, 16), validHex("ledger hash", h.Hash, sha256.Size)}
	if h.Seq < 0 {
		errs = append(errs, fmt.Errorf("dpmech: ledger seq is %d, want 0 or more", h.Seq))
	}
	return errors.Join(errs...)
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
