package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk/signed"
)

// maxEvidence bounds the file of evidence, in bytes: one line for each member is enough.
const maxEvidence = 1 << 20

// EvidencePath returns where the [Dir] in a directory keeps its evidence, once there is some: a JSON object a line.
func EvidencePath(dir string) string { return filepath.Join(dir, "evidence.jsonl") }

// Evidence returns what [Dir.AddEvidence] has kept.
func (d *Dir) Evidence() ([]signed.Evidence, error) { return ReadEvidence(EvidencePath(d.dir)) }

// AddEvidence keeps evidence in a file beside the slots; it is on the disk when AddEvidence returns.
func (d *Dir) AddEvidence(e signed.Evidence) error {
	path := EvidencePath(d.dir)
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return advise(err)
	}
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if len(old)+len(line) >= maxEvidence {
		return fmt.Errorf("state: %s has %d bytes already, want at most %d", path, len(old), maxEvidence)
	}
	return advise(replaceFile(path, append(append(old, line...), '\n')))
}

// ReadEvidence reads a file of evidence. No file is no evidence, a damaged line an error. Signatures are not checked.
func ReadEvidence(path string) ([]signed.Evidence, error) {
	var list []signed.Evidence
	err := eachLine(path, func(line []byte) error {
		var e signed.Evidence
		err := dpmech.ReadJSON(line, &e)
		if err == nil {
			_, _, err = e.Releases()
		}
		list = append(list, e)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%w; bring the file back from a copy, or remove it and forget what it shows", err)
	}
	return list, nil
}
