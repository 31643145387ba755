package cli

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"math"
	"os"

	"github.com/spade-dfl/spade-edge/sdk/state"
)

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

// Taken reports what stands in the place of a file that is to be written.
func (f *Faults) Taken(path string, force bool) {
	if info, err := os.Lstat(path); err == nil {
		f.When(info.IsDir(), "%s is a folder, want a name for a file", path)
		f.When(!info.IsDir() && !force, "%s is there already: -force overwrites it", path)
	}
}

// WriteAll writes files for everybody to read; each is written whole or not at all, and a full disk
// leaves none of them behind. Unless force is set it overwrites
// nothing.
func WriteAll(files []Written, force bool) error {
	var taken Faults
	for _, f := range files {
		taken.Taken(f.Path, force)
	}
	if err := taken.Usage(); err != nil {
		return err
	}
	for i, f := range files { // first to names of their own, which fails where there is no room
		if f.Content == nil {
			continue
		}
		if err := state.Replace(f.Path+".new", f.Content, 0o644); err != nil {
			for _, before := range files[:i] {
				_ = os.Remove(before.Path + ".new") // it may never have been written
			}
			return err
		}
	}
	for _, f := range files {
		err := os.Rename(f.Path+".new", f.Path)
		if f.Content == nil {
			err = os.Remove(f.Path)
		}
		if err != nil && !(f.Content == nil && errors.Is(err, fs.ErrNotExist)) {
			return err
		}
	}
	return nil
}
