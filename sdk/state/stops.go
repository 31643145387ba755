package state

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk/signed"
)

// StopsPath returns where the [Dir] in a directory keeps the wishes that its run end early, once there are some: a JSON
// object a line.
func StopsPath(dir string) string { return filepath.Join(dir, "stops.jsonl") }

// stopLine is a line of that file. The node has checked the signature, which counts even if the key is replaced later.
type stopLine struct {
	Fleet  string `json:"fleet"`  // hash of the run's fleet, in hexadecimal digits
	Member int    `json:"member"` // this and the rest as in [signed.Stop]
	Last   int    `json:"last"`
	Stop   string `json:"stop"` // as [signed.Stop.Append] writes it
}

// Stops returns what [Dir.KeepStops] has kept for a fleet.
func (d *Dir) Stops(fleet [32]byte) ([]signed.Stop, error) { return ReadStops(d.dir, fleet) }

// KeepStops keeps stops for a fleet in place of those that were kept before. They are on the disk when it returns.
func (d *Dir) KeepStops(fleet [32]byte, list []signed.Stop) error {
	var text []byte
	for i := range list {
		s := &list[i]
		line, err := json.Marshal(stopLine{hex.EncodeToString(fleet[:]), s.Member, s.Last, hex.EncodeToString(s.Append(nil))})
		if err != nil {
			return err
		}
		text = append(append(text, line...), '\n')
	}
	return advise(replaceFile(StopsPath(d.dir), text))
}

// ReadStops returns the stops that the [Dir] in a directory keeps for a fleet. No file is no stop, a damaged line an
// error. Signatures are not checked.
func ReadStops(dir string, fleet [32]byte) (list []signed.Stop, err error) {
	err = eachLine(StopsPath(dir), func(line []byte) error {
		var l stopLine
		if err := dpmech.ReadJSON(line, &l); err != nil {
			return err
		}
		b, err := hex.DecodeString(l.Stop)
		if err != nil {
			return err
		}
		s, err := signed.ParseStop(b)
		if err == nil && (s.Member != l.Member || s.Last != l.Last) {
			err = fmt.Errorf("says member %d and round %d, and was signed for %d and %d", l.Member, l.Last, s.Member, s.Last)
		}
		if err == nil && l.Fleet == hex.EncodeToString(fleet[:]) {
			list = append(list, s)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%w; bring the file back from a copy, or remove it: the neighbors tell of its stops again", err)
	}
	return list, nil
}
