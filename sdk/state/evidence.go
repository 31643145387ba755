package state

import (
	"path/filepath"

	"github.com/spade-dfl/spade-edge/sdk/signed"
)

// EvidencePath returns where the [Dir] in a directory keeps its evidence, once there is some: a JSON object a line.
func EvidencePath(dir string) string { return filepath.Join(dir, "evidence.jsonl") }

// Evidence returns what [Dir.AddEvidence] has kept.
func (d *Dir) Evidence() ([]signed.Evidence, error) { return ReadEvidence(EvidencePath(d.dir)) }

// AddEvidence keeps evidence in a file beside the slots; it is on the disk when AddEvidence returns.
func (d *Dir) AddEvidence(e signed.Evidence) error {
	list, err := d.Evidence()
	if err != nil {
		return err
	}
	return writeLines(EvidencePath(d.dir), append(list, e))
}

// ReadEvidence reads a file of evidence. A missing file yields an empty list; a damaged line is an error. Signatures are
// not checked.
func ReadEvidence(path string) ([]signed.Evidence, error) {
	return readLines(path, " and forget what it shows", func(e *signed.Evidence) error {
		_, _, err := e.Releases()
		return err
	})
}
