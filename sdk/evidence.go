package sdk

import (
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spade-dfl/spade-edge/sdk/signed"
)

// Evidence shows that a member's key has signed two different releases of one round: a copy of its device is at work, or the device was
// set back and has made the round again. Everybody who has the member's public key can check it.
type Evidence struct {
	Member string `json:"member"`
	Round  int    `json:"round"`
	First  string `json:"first"`  // a release as package signed writes it, in hexadecimal digits
	Second string `json:"second"` // likewise
}

func newEvidence(member string, first, second *signed.Release) Evidence {
	return Evidence{Member: member, Round: first.Round, First: hex.EncodeToString(first.Append(nil)), Second: hex.EncodeToString(second.Append(nil))}
}

// String says what the evidence shows.
func (e Evidence) String() string {
	return fmt.Sprintf("%q has signed two different releases of round %d: it has a double, or was set back", e.Member, e.Round)
}

// Verify checks both signatures under a member's keys and that they contradict each other. run and fleet are those of the run, see
// [Fleet.Hash].
func (e Evidence) Verify(run string, fleet [32]byte, keys []ed25519.PublicKey) error {
	first, second, err := e.releases()
	if err != nil {
		return err
	}
	scope := signed.NewScope(run, fleet, e.Member)
	if err := errors.Join(first.Verify(scope, keys), second.Verify(scope, keys)); err != nil {
		return err
	}
	if !first.Contradicts(&second) {
		return fmt.Errorf("sdk: evidence: signed releases %d and %d of %q do not contradict each other", first.Round, second.Round, e.Member)
	}
	return nil
}

// releases returns the two signed releases, of which the first is of the round that the evidence names.
func (e Evidence) releases() (first, second signed.Release, err error) {
	var list [2]signed.Release
	for i, text := range []string{e.First, e.Second} {
		b, err := hex.DecodeString(text)
		if err == nil {
			list[i], err = signed.Parse(b)
		}
		if err != nil {
			return first, second, fmt.Errorf("sdk: evidence: %w", err)
		}
	}
	if list[0].Round != e.Round {
		err = fmt.Errorf("sdk: evidence: round is %d, and release %d was signed", e.Round, list[0].Round)
	}
	return list[0], list[1], err
}

// evidenceKeeper is a [Store] that keeps evidence as well, as [DirStore] does.
type evidenceKeeper interface {
	// Evidence returns what was kept.
	Evidence() ([]Evidence, error)
	// AddEvidence keeps one more, durably.
	AddEvidence(Evidence) error
}

// evidenceName is the file of evidence in the directory of a store: a JSON object a line.
const evidenceName = "evidence.jsonl"

// maxEvidence bounds the file: one for each member is enough, and more tell nothing new.
const maxEvidence = 1 << 20

// Evidence returns what [DirStore.AddEvidence] has kept.
func (d *DirStore) Evidence() ([]Evidence, error) { return ReadEvidence(EvidencePath(d.dir)) }

// AddEvidence keeps evidence in a file beside the slots; it is on the disk when AddEvidence returns.
func (d *DirStore) AddEvidence(e Evidence) error {
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
		return fmt.Errorf("sdk: %s has %d bytes already, and takes %d", path, len(old), maxEvidence)
	}
	return advise(replaceFile(path, append(append(old, line...), '\n')))
}

// EvidencePath returns where the [DirStore] of a directory keeps its evidence. There is no such file until there is some.
func EvidencePath(dir string) string { return filepath.Join(dir, evidenceName) }

// ReadEvidence reads a file of evidence, as a [DirStore] keeps it. No file is no evidence. A damaged line is an error. It does not check
// the signatures, see [Evidence.Verify].
func ReadEvidence(path string) ([]Evidence, error) {
	var list []Evidence
	err := eachLine(path, func(line []byte) error {
		var e Evidence
		err := strictJSON(line, &e)
		if err == nil {
			_, _, err = e.releases()
		}
		list = append(list, e)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%w; bring the file back from a copy, or remove it and forget what it shows", err)
	}
	return list, nil
}
