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

// Written is a file to be written; with nil content it is removed.
type Written struct {
	Path    string
	Content []byte
	Secret  bool // nobody else may read it
}

// Taken reports what stands in the place of a file that is to be written.
func (f *Faults) Taken(path string, force bool) {
	if info, err := os.Lstat(path); err == nil {
		f.When(info.IsDir(), "%s is a folder, want a name for a file", path)
		f.When(!info.IsDir() && !force, "%s already exists: -force overwrites it", path)
	}
}

// WriteAll writes files, each whole or not at all; if the disk is full, none is left. Without force
// it fails if one of them exists.
func WriteAll(files []Written, force bool) error {
	var taken Faults
	for _, f := range files {
		taken.Taken(f.Path, force)
	}
	if err := taken.Usage(); err != nil {
		return err
	}
	for i, f := range files { // first under temporary names, which fails if there is no room
		if f.Content == nil {
			continue
		}
		mode := fs.FileMode(0o644)
		if f.Secret {
			mode = 0o600
		}
		if err := state.Replace(f.Path+".new", f.Content, mode); err != nil {
			for _, before := range files[:i] {
				_ = os.Remove(before.Path + ".new") // it may never have been written
			}
			return err
		}
	}
	for _, f := range files {
		if f.Content == nil {
			if err := os.Remove(f.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		} else if err := os.Rename(f.Path+".new", f.Path); err != nil {
			return err
		}
	}
	return nil
}
