package state

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/spade-dfl/spade-edge/dpmech/certificate"
	"github.com/spade-dfl/spade-edge/dpmech/strict"
	"github.com/spade-dfl/spade-edge/sdk/regular"
)

// disk is the directory that holds the files of a Dir. Tests replace it to inject faults.
type disk interface {
	// open opens a file with the flags of os.OpenFile. If the file is missing and O_CREATE is not set, it returns
	// fs.ErrNotExist.
	open(name string, flag int) (file, error)
	// sync makes the creation of files durable.
	sync() error
}

// file is an open file. Its errors contain its name.
type file interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	size() (int64, error)
	truncate(size int64) error
	// sync makes the content durable: after it returns nil, the content survives a power cut.
	sync() error
}

// Size limits in bytes: mostKept applies to files that are read as a whole; mostState applies to files of states, to
// the log and to ledgers, whose lengths are also checked elsewhere.
const (
	mostKept  = 1 << 30
	mostState = 1 << 40
)

type osDisk string

func (d osDisk) open(name string, flag int) (file, error) {
	f, err := regular.Open(filepath.Join(string(d), name), flag, 0o600, mostState)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

func (d osDisk) sync() error { return syncDir(string(d)) }

type osFile struct{ *os.File }

func (f osFile) size() (int64, error) {
	st, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return st.Size(), nil
}

func (f osFile) truncate(size int64) error { return f.Truncate(size) }
func (f osFile) sync() error               { return syncFile(f.File) }

// errLocked is returned by lockFile if another process holds the lock.
var errLocked = errors.New("in use by another process")

// writeSync durably writes b to a file at an offset.
func writeSync(f file, b []byte, at int64) error {
	if _, err := f.WriteAt(b, at); err != nil {
		return err
	}
	return f.sync()
}

func closeAll(files ...io.Closer) error {
	var errs []error
	for _, f := range files {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}

// makeDir durably creates a directory and its missing parents.
func makeDir(dir string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	parent := filepath.Dir(dir)
	if parent != dir {
		if err := makeDir(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncDir(parent)
}

// Replace durably replaces the content of a file: after a crash the file has the old or the new content. A new file
// gets the permissions in mode that the umask allows. An existing file gets all permissions in mode, whatever the
// umask, and keeps its owner, because root may edit the files of another user's node. If path is a link, Replace replaces
// the file to which it leads: the old content may be a secret that must go.
func Replace(path string, content []byte, mode fs.FileMode) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	temp := path + ".tmp"
	if info, err := os.Lstat(temp); err == nil && !info.IsDir() { // a temporary file left by a crash
		_ = os.Remove(temp)
	}
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	if old, missing := os.Stat(path); missing == nil {
		err = errors.Join(keepOwner(f, old), f.Chmod(mode))
	}
	if err == nil {
		_, err = f.Write(content)
	}
	if err == nil {
		err = syncFile(f)
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		_ = os.Remove(temp)
		return err
	}
	return syncDir(filepath.Dir(path))
}

// WriteCertificate durably writes a certificate to a file. If the file already has a certificate of the same release
// with more countersignatures, WriteCertificate does not replace that certificate: a node that serves a finished run
// again may collect fewer countersignatures, because neighbors do not sign twice.
func WriteCertificate(path string, c *certificate.Certificate) error {
	if text, err := regular.Read(path, mostKept); err == nil && c.Head != "" {
		old, err := certificate.Parse(text)
		if err == nil && old.Verify() == nil && old.Head == c.Head && len(old.Countersigned) > len(c.Countersigned) {
			return nil
		}
	}
	text, err := c.JSON()
	if err != nil {
		return err
	}
	return named(Replace(path, text, 0o600))
}

// readIfThere returns the content of a file, or nil if the file does not exist.
func readIfThere(path string) ([]byte, error) {
	text, err := regular.Read(path, mostKept)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return text, named(err)
}

// named adds the name of this package to an operating-system error. The error already names the file.
func named(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("state: %w", err)
}

// exactJSON parses one JSON object into v. line must be byte for byte what encoding/json writes for v.
func exactJSON(line []byte, v any) error {
	if err := strict.ReadJSON(line, v); err != nil {
		return err
	}
	if again, err := json.Marshal(v); err != nil || !bytes.Equal(again, line) {
		return errors.New("the text was changed after it was written")
	}
	return nil
}

// checkModes rejects files that anyone but their owner can access, on systems with file modes: a writer could hide
// costs in a ledger, and a reader could see unreleased parameters in a state. Missing files pass.
func checkModes(paths ...string) error {
	var errs []error
	for _, path := range paths {
		errs = append(errs, checkMode(path, 0o077, 0o600))
	}
	return errors.Join(errs...)
}

func checkMode(path string, loose, want fs.FileMode) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && (runtime.GOOS == "windows" || info.Mode().Perm()&loose == 0) {
		return nil
	}
	if err != nil {
		return named(err)
	}
	return fmt.Errorf("state: %s has mode %04o, want %04[3]o: other users can access it; run chmod %[3]o %[1]s (on a "+
		"file system without modes, mount it with umask=077)", path, info.Mode().Perm(), want)
}

// checkStore checks the modes of a store's files and rejects a world-writable directory.
func checkStore(dir string) error {
	return errors.Join(checkMode(dir, 0o002, 0o700), checkModes(filepath.Join(dir, slotName(0)), filepath.Join(dir, slotName(1)),
		filepath.Join(dir, logName), filepath.Join(dir, lockName), filepath.Join(dir, JournalName)))
}
