package state

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// TestFirstSaveCutShort checks that a store is still considered fresh if its first save is interrupted, even several
// times and in either slot.
func TestFirstSaveCutShort(t *testing.T) {
	d := newSimDisk(nil)
	for round := 1; round <= 4; round++ {
		s := simOpen(t, d)
		if got := loaded(t, s); len(got) > 0 || round > 1 && len(s.Remarks()) != 1 {
			t.Fatalf("before attempt %d the store has %v, and remarks %q", round, got, s.Remarks())
		}
		d.fault = func(s step) error {
			if s.kind == "write" && s.off > 0 {
				return errShort
			}
			return nil
		}
		if err := s.Save(savedRound(round, 20)); !errors.Is(err, errShort) {
			t.Fatal(err)
		}
		d.fault = nil
	}
	survives(t, d.files, 0)
}

// TestFirstSavesLosePower cuts the power at every step of a first save, after another first save, to the other slot, was
// torn. The torn slot must be cleared durably by then: two torn slots look like a store whose releases are lost.
func TestFirstSavesLosePower(t *testing.T) {
	coin := rng.New(9, rng.Address{Purpose: rng.Fault})
	first := func(files map[string][]byte, round int) history {
		d := newSimDisk(files)
		must(t, simOpen(t, d).Save(savedRound(round, 20)))
		return history{start: files, steps: d.steps}
	}
	once := first(nil, 1)
	torn := once.after(len(once.steps) - 2) // without the line of the log and its sync
	torn["slot-1"][slotHeader] ^= 1
	twice := first(torn, 2)
	for n := range twice.steps {
		for range 20 {
			if s, err := openOn(newSimDisk(twice.powerCut(n, &coin)), "sim"); err != nil || s.newest > 0 && s.newest != 2 {
				t.Fatalf("power cut at step %d: %v", n, err)
			}
		}
	}
}

// The files of a killed process contain everything that the process wrote up to some byte, and nothing that the process
// would have written after that byte. The test tries every such byte from an empty directory to round 4, except that it
// skips most of the zeros of new slots.
func TestKilledAtEveryByte(t *testing.T) {
	t.Parallel() // waits for the disk
	h := record(t, nil, 4)
	files := map[string][]byte{}
	cuts, ahead := 0, 0
	for i, s := range h.steps {
		for n := range len(s.data) {
			if n >= 64 && n < len(s.data)-64 && n%509 != 0 {
				continue
			}
			torn := newSimDisk(files).files
			step{s.kind, s.name, s.off, s.data[:n]}.on(torn)
			if survives(t, torn, h.promised(i)) > h.promised(i) {
				ahead++
			}
			cuts++
		}
		s.on(files)
		survives(t, files, h.promised(i+1))
	}
	// If a slot is whole but its line is not yet in the log, the loaded state is newer than the last state that Save
	// confirmed.
	if cuts < 1000 || ahead < 400 {
		t.Errorf("%d cuts, %d of them with a state that Save had not returned from", cuts, ahead)
	}
}

// TestLyingSync simulates a disk that reports syncs without doing them, and so can roll back the store. If all files
// are rolled back together, the store is valid but old, and only the neighbors can detect the rollback. If the log is
// intact, Open never accepts an older state as the newest.
func TestLyingSync(t *testing.T) {
	t.Parallel() // waits for the disk
	h := record(t, nil, 5)
	n := len(h.steps)
	log := h.after(n)[logName]
	setBack := 0
	var after []map[string][]byte
	for e := range n + 1 {
		after = append(after, h.after(e))
		if got := survives(t, after[e], h.promised(e)); got > 5 {
			t.Fatalf("the store as it was after step %d has round %d", e, got)
		}
	}
	for e0 := range after {
		for e1 := range after {
			files := map[string][]byte{logName: log}
			for name, e := range map[string]int{"slot-0": e0, "slot-1": e1} {
				if b, ok := after[e][name]; ok {
					files[name] = b
				}
			}
			s, err := sized(openOn(newSimDisk(files), "sim"))(testLimit)
			switch {
			case err == nil && s.newest != 5:
				t.Fatalf("slot-0 of step %d and slot-1 of step %d with the log of round 5 were opened as round %d", e0, e1,
					s.newest)
			case errors.Is(err, ErrRollback):
				setBack++
			case err != nil && s != nil:
				t.Fatal("openOn returned both a store and an error")
			}
		}
	}
	if setBack == 0 {
		t.Error("no rollback was seen")
	}
}

// TestFullDisk checks that, if the disk fills up while the store is created or grows, the store releases the allocated
// space and is unchanged. With enough room, it grows and keeps its states.
func TestFullDisk(t *testing.T) {
	for _, n := range []int{0, 3} {
		files := map[string][]byte{}
		if n > 0 {
			h := record(t, nil, n)
			files = h.after(len(h.steps))
		}
		d := newSimDisk(files)
		const room = 1 << 20
		d.fault = func(s step) error {
			used := 0
			for _, b := range d.files {
				used += len(b)
			}
			if s.kind == "write" && used+int(s.off)+len(s.data)-len(d.files[s.name]) > room {
				return syscall.ENOSPC
			}
			return nil
		}
		if _, err := sized(openOn(d, "sim"))(room / 2); !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("after %d rounds a store too large for the disk: %v", n, err)
		}
		if got, want := len(d.files["slot-1"]), max(slotOverhead, len(files["slot-1"])); got != want {
			t.Errorf("the slot that found no room was left with %d bytes instead of %d", got, want)
		}
		d.files = newSimDisk(files).files

		// Some file systems allocate space only on a sync, so a full disk may be reported only then.
		d.fault = func(s step) error {
			if s.kind == "sync" && len(d.files[s.name]) > room/2 {
				return syscall.ENOSPC
			}
			return nil
		}
		if _, err := sized(openOn(d, "sim"))(room / 2); !errors.Is(err, syscall.ENOSPC) ||
			len(d.files["slot-0"]) != max(slotOverhead, len(files["slot-0"])) {
			t.Fatalf("after %d rounds, room that was promised and not there: %v", n, err)
		}
		d.fault = nil
		survives(t, d.files, n)
		if _, err := sized(openOn(d, "sim"))(room / 2); err != nil || len(d.files["slot-0"]) != room/2+slotOverhead {
			t.Fatalf("after %d rounds, with enough room: slots of %d bytes, %v", n, len(d.files["slot-0"]), err)
		}
		survives(t, d.files, n) // opened again for shorter states
	}
}

// TestEveryByteRots checks that a corrupt byte in the older slot makes only that slot unusable, and that a corrupt byte
// in the newer slot makes Open fail. A corrupt byte in the log never changes which states are loaded.
func TestEveryByteRots(t *testing.T) {
	h := record(t, nil, 4)
	files := h.after(len(h.steps))
	for _, name := range slices.Sorted(maps.Keys(files)) {
		used := len(files[name])
		if name != logName {
			s, err := readSlot(bytes.NewReader(files[name]), int64(used))
			must(t, err)
			used = slotHeader + len(s.State) + len(s.Note) + len(s.digest)
		}
		for at := range min(used+1, len(files[name])) { // including one byte of the room after a slot
			for _, mask := range []byte{0x01, 0x80, 0xff} {
				d := newSimDisk(files)
				d.files[name][at] ^= mask
				s, err := sized(openOn(d, "sim"))(testLimit)
				want := []int{4, 3}
				switch {
				case name == "slot-0" && at < used:
					if !errors.Is(err, ErrRollback) {
						t.Fatalf("newer slot, byte %d: %v", at, err)
					}
					continue
				case name == "slot-1" && at < used:
					want = []int{4}
					if s != nil && len(s.Remarks()) == 0 {
						t.Errorf("older slot, byte %d: no remark", at)
					}
				case name == logName && err != nil:
					continue // the byte is a digit of a round or a digest
				}
				if err != nil {
					t.Fatalf("%s, byte %d: %v", name, at, err)
				}
				if got := loaded(t, s); !slices.Equal(got, want) {
					t.Fatalf("%s, byte %d: %v, want %v", name, at, got, want)
				}
			}
		}
	}
}

// TestUnreadableSector checks that an unreadable sector of the disk is reported like a corrupt file.
func TestUnreadableSector(t *testing.T) {
	d := newSimDisk(nil)
	s := simOpen(t, d)
	for r := 1; r <= 2; r++ {
		must(t, s.Save(savedRound(r, 20)))
	}
	for bad, want := range map[string]string{"slot-1": "", "slot-0": ErrRollback.Error(), logName: logName} {
		d.bad = bad
		s, err := sized(openOn(d, "sim"))(testLimit)
		if want == "" {
			if err != nil || len(s.Remarks()) != 1 || !strings.Contains(s.Remarks()[0], "input/output") {
				t.Errorf("%s: %v", bad, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
