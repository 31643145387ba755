package state

import (
	"bytes"
	"errors"
	"path/filepath"

	"github.com/spade-dfl/spade-edge/sdk/signed"
)

// StopsPath returns where the [Dir] in a directory keeps the early-stop requests of its run, once there are some: a JSON
// object a line.
func StopsPath(dir string) string { return filepath.Join(dir, "stops.jsonl") }

// stopLine is a line of that file. The node has checked the signature, which counts even if the key is replaced later.
type stopLine struct {
	Fleet hexText `json:"fleet"` // hash of the run's fleet
	Stop  hexText `json:"stop"`  // as [signed.Relayed.Append] writes it

	stop signed.Relayed
}

func (l *stopLine) parse() (err error) {
	if l.stop, err = signed.ParseRelayed(l.Stop, signed.Stop); err == nil && len(l.Fleet) != 32 {
		err = errors.New("fleet is not the hash of a fleet")
	}
	return err
}

// Stops returns what [Dir.KeepStops] has kept for a fleet.
func (d *Dir) Stops(fleet [32]byte) ([]signed.Relayed, error) { return ReadStops(d.dir, fleet) }

// KeepStops keeps stops for a fleet in place of those that were kept before. They are on the disk when it returns.
func (d *Dir) KeepStops(fleet [32]byte, list []signed.Relayed) error {
	lines := make([]stopLine, len(list))
	for i := range list {
		lines[i] = stopLine{Fleet: fleet[:], Stop: list[i].Append(nil)}
	}
	return writeLines(StopsPath(d.dir), lines)
}

// ReadStops returns the stops that the [Dir] in a directory keeps for a fleet. A missing file yields an empty list; a
// damaged line is an error. Signatures are not checked.
func ReadStops(dir string, fleet [32]byte) (list []signed.Relayed, err error) {
	lines, err := readLines(StopsPath(dir), ": the neighbors send its stops again", (*stopLine).parse)
	for _, l := range lines {
		if bytes.Equal(l.Fleet, fleet[:]) {
			list = append(list, l.stop)
		}
	}
	return list, err
}
