package cli

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"math"
	"os"

	"github.com/spade-dfl/spade-edge/sdk/state"
)

// EndingsOf are the endings of file names that say a format.
var EndingsOf = map[string]string{".npy": "npy", ".raw": "raw", ".bin": "raw", ".f32": "raw", ".json": "json"}

// AppendFloats appends numbers as float32, little endian. encoding/binary would link reflection on top.
func AppendFloats(b []byte, x []float32) []byte {
	for _, v := range x {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

// Written is a file to be written; with no content it must not be there.
type Written struct {
	Path    string
	Content []byte
}

// WriteAll writes files for everybody to read; each is written whole or not at all. Unless force is set it overwrites
// nothing.
func WriteAll(files []Written, force bool) error {
	var taken Faults
	for _, f := range files {
		switch info, err := os.Lstat(f.Path); {
		case err != nil:
		case info.IsDir():
			taken.Add("%s is a folder, want a name for a file", f.Path)
		case !force:
			taken.Add("%s is there already: -force overwrites it", f.Path)
		}
	}
	if err := taken.Usage(); err != nil {
		return err
	}
	for _, f := range files {
		var err error
		if f.Content != nil {
			err = state.Replace(f.Path, f.Content, 0o644)
		} else if err = os.Remove(f.Path); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}
