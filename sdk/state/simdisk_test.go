package state

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"slices"
	"testing"

	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// simDisk is an in-memory disk that records every step, so that a test can reconstruct the files after a failure of the
// process or the power at any step. Programs see the content of its files; what the physical disk holds is decided only
// when a test simulates a crash.
type simDisk struct {
	files map[string][]byte
	steps []step
	fault func(step) error // returns the error of a step; a write with errShort is half done
	bad   string           // the name of a file of which nothing after the header can be read
}

type step struct {
	kind string // "create", "write", "truncate", "sync"; a "sync" without a name syncs the directory
	name string
	off  int64 // offset of a write, new size of a truncate
	data []byte
}

var errShort = errors.New("short write")

func newSimDisk(files map[string][]byte) *simDisk {
	d := &simDisk{files: map[string][]byte{}}
	for name, b := range files {
		d.files[name] = bytes.Clone(b)
	}
	return d
}

func (d *simDisk) do(s step) error {
	if d.fault != nil {
		if err := d.fault(s); err != nil {
			if errors.Is(err, errShort) {
				s.data = s.data[:len(s.data)/2]
				d.apply(s)
			}
			return &fs.PathError{Op: s.kind, Path: s.name, Err: err}
		}
	}
	d.apply(s)
	return nil
}

func (d *simDisk) apply(s step) {
	s.data = bytes.Clone(s.data)
	d.steps = append(d.steps, s)
	s.on(d.files)
}

func (s step) on(files map[string][]byte) {
	b := files[s.name]
	switch s.kind {
	case "create":
		files[s.name] = []byte{}
	case "write":
		if end := int(s.off) + len(s.data); end > len(b) {
			b = append(b, make([]byte, end-len(b))...)
		}
		copy(b[s.off:], s.data)
		files[s.name] = b
	case "truncate":
		files[s.name] = append(b, make([]byte, max(0, int(s.off)-len(b)))...)[:s.off]
	}
}

func (d *simDisk) open(name string, flag int) (file, error) {
	create := flag&os.O_CREATE != 0
	if _, ok := d.files[name]; !ok {
		if !create {
			return nil, fs.ErrNotExist
		}
		if err := d.do(step{kind: "create", name: name}); err != nil {
			return nil, err
		}
	}
	return simFile{d, name}, nil
}

func (d *simDisk) sync() error { return d.do(step{kind: "sync"}) }

type simFile struct {
	d    *simDisk
	name string
}

func (f simFile) ReadAt(b []byte, off int64) (int, error) {
	if f.name == f.d.bad && off+int64(len(b)) > slotHeader {
		return 0, errors.New("input/output error")
	}
	return bytes.NewReader(f.d.files[f.name]).ReadAt(b, off)
}

func (f simFile) WriteAt(b []byte, off int64) (int, error) {
	if err := f.d.do(step{"write", f.name, off, b}); err != nil {
		return 0, err
	}
	return len(b), nil
}

func (f simFile) size() (int64, error) { return int64(len(f.d.files[f.name])), nil }

func (f simFile) truncate(size int64) error {
	return f.d.do(step{kind: "truncate", name: f.name, off: size})
}

func (f simFile) sync() error { return f.d.do(step{kind: "sync", name: f.name}) }

func (f simFile) Close() error { return nil }

// history has the steps of a store on a disk and, for each save, the number of steps after which that save had
// returned.
type history struct {
	start map[string][]byte
	steps []step
	acked []int // number of steps by round, from 1; 0 for rounds saved earlier
}

func record(t *testing.T, files map[string][]byte, last int) history {
	t.Helper()
	d := newSimDisk(files)
	s := simOpen(t, d)
	h := history{start: files, acked: make([]int, last+1)}
	for r := max(s.newest, 0) + 1; r <= last; r++ {
		must(t, s.Save(savedRound(r, 20)))
		h.acked[r] = len(d.steps)
	}
	h.steps = d.steps
	return h
}

func sized(d *Dir, err error) func(size int) (*Dir, error) {
	return func(size int) (*Dir, error) {
		if err == nil {
			err = d.Reserve(size)
		}
		if err != nil && d != nil {
			return nil, errors.Join(err, d.Close())
		}
		return d, err
	}
}

func simOpen(t *testing.T, d *simDisk) *Dir {
	t.Helper()
	s, err := sized(openOn(d, "sim"))(testLimit)
	must(t, err)
	return s
}

// promised returns the newest round whose Save had returned before step n.
func (h history) promised(n int) int {
	newest := 0
	for r, at := range h.acked {
		if at <= n {
			newest = r
		}
	}
	return newest
}

// survives checks that a store opens after a crash, that its newest state is complete and belongs to the promised round
// or to the next round, and that the store accepts two further rounds. survives returns the round of the newest state
// found.
func survives(t *testing.T, files map[string][]byte, promised int) int {
	t.Helper()
	d := newSimDisk(files)
	s := simOpen(t, d)
	kept := loaded(t, s)
	newest := 0
	if len(kept) > 0 {
		newest = kept[0]
	}
	if newest != promised && newest != promised+1 {
		t.Fatalf("round %d was promised, and %v came back", promised, kept)
	}
	for r := newest + 1; r <= newest+2; r++ {
		must(t, s.Save(savedRound(r, 20)))
	}
	if got := loaded(t, simOpen(t, newSimDisk(d.files))); !slices.Equal(got, []int{newest + 2, newest + 1}) {
		t.Fatalf("two rounds after %d the store has %v", newest, got)
	}
	return newest
}

// powerCut returns the files after a power cut at step n. The files contain every synced write and, of each unsynced
// write, either everything, nothing, or a random subset of its 8-byte pieces.
func (h history) powerCut(n int, coin *rng.Stream) map[string][]byte {
	synced := map[string]int{}
	for i, s := range h.steps[:n] {
		if s.kind == "sync" {
			synced[s.name] = i
		}
	}
	files := newSimDisk(h.start).files
	for i, s := range h.steps[:n] {
		name := s.name
		if s.kind == "create" {
			name = "" // a created file is durable once the directory is synced
		}
		if at, ok := synced[name]; ok && i < at {
			s.on(files)
			continue
		}
		if _, ok := files[s.name]; !ok && s.kind != "create" {
			continue
		}
		switch coin.IntN(3) {
		case 0:
			s.on(files)
		case 1:
			for at := 0; at < len(s.data); at += 8 {
				if coin.IntN(2) == 0 {
					step{s.kind, s.name, s.off + int64(at), s.data[at:min(at+8, len(s.data))]}.on(files)
				}
			}
		}
	}
	return files
}

func (h history) after(n int) map[string][]byte {
	files := newSimDisk(h.start).files
	for _, s := range h.steps[:n] {
		s.on(files)
	}
	return files
}
