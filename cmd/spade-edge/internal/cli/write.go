package cli

import (
	"errors"
	"io/fs"
	"os"

	"github.com/spade-dfl/spade-edge/sdk/state"
)

// Written is a file to be written or, if its content is nil, to be removed.
type Written struct {
	Path    string
	Content []byte
	Secret  bool // readable by the owner only
}

// Taken adds an error if path is a folder, or if a file exists at path and force is false.
func (f *Faults) Taken(path string, force bool) {
	if info, err := os.Lstat(path); err == nil {
		f.When(info.IsDir(), "%s is a folder, want a file name", path)
		f.When(!info.IsDir() && !force, "%s already exists; use -force to overwrite it", path)
	}
}

// WriteAll writes files atomically. If the disk is full, it writes none of them. It fails if one of the files already
// exists, unless force is true.
func WriteAll(files []Written, force bool) error {
	var taken Faults
	for _, f := range files {
		taken.Taken(f.Path, force)
	}
	if err := taken.Usage(); err != nil {
		return err
	}
	for i, f := range files { // write temporary files first: this fails if the disk is full
		if f.Content == nil {
			continue
		}
		mode := fs.FileMode(0o644)
		if f.Secret {
			mode = 0o600
		}
		if err := state.Replace(f.Path+".new", f.Content, mode); err != nil {
			for _, before := range files[:i] {
				_ = os.Remove(before.Path + ".new") // it may not exist
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
