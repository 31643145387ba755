package program

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"math"
	"os"

	"github.com/spade-dfl/spade-edge/sdk/state"
)

// endingsOf are the endings of file names that say a format.
var endingsOf = map[string]string{".npy": "npy", ".raw": "raw", ".bin": "raw", ".f32": "raw", ".json": "json"}

// appendFloats appends numbers as float32, little endian. encoding/binary would link reflection on top.
func appendFloats(b []byte, x []float32) []byte {
	for _, v := range x {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

// written is a file to be written; with no content it must not be there.
type written struct {
	path    string
	content []byte
}

// writeAll writes files for everybody to read; a full disk leaves none of them behind. Unless force is set it overwrites
// nothing.
func writeAll(files []written, force bool) error {
	var taken faults
	for _, f := range files {
		switch info, err := os.Lstat(f.path); {
		case err != nil:
		case info.IsDir():
			taken.add("%s is a folder, want a name for a file", f.path)
		case !force:
			taken.add("%s is there already: -force overwrites it", f.path)
		}
	}
	if err := taken.usage(); err != nil {
		return err
	}
	var staged []*state.Staged
	for _, f := range files {
		if f.content == nil {
			continue
		}
		one, err := state.Stage(f.path, f.content, 0o644)
		if err != nil {
			for _, s := range staged {
				s.Discard()
			}
			return err
		}
		staged = append(staged, one)
	}
	var errs []error
	for _, s := range staged {
		errs = append(errs, s.Commit())
	}
	for _, f := range files {
		if f.content == nil {
			if err := os.Remove(f.path); !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}
