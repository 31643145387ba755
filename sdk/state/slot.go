package state

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// A slot is a file with one state:
//
//	magic "SPADEslt" | version uint32 | note length uint32 | round uint64 | state length uint64 | state | note | SHA-256
//
// in little-endian order. The digest covers everything before it; room for longer states follows. Later versions keep
// the header and the place of the digest, so that an older build does not mistake a newer slot for a damaged slot. A
// new state overwrites the older of the two states in place. One sync suffices, because a mix of old and new bytes does
// not match its SHA-256. No release is sent before that sync, and the file with the newest state is untouched.
const (
	slotMagic    = "SPADEslt"
	slotVersion  = 1
	slotHeader   = 32
	slotOverhead = slotHeader + MaxNote + sha256.Size
)

type slot struct {
	Record
	version uint32 // version of the format
	digest  [sha256.Size]byte
}

// errEmpty is the error for a slot that was never saved to.
var errEmpty = errors.New("holds nothing yet")

// writeSlot writes s to w, the digest last, and returns the digest. writeSlot does not copy the state.
func writeSlot(w io.WriterAt, s Record) (digest [sha256.Size]byte, err error) {
	sum := sha256.New()
	var off int64
	put := func(b []byte) {
		if err == nil {
			_, err = w.WriteAt(b, off)
		}
		sum.Write(b)
		off += int64(len(b))
	}
	head := append(make([]byte, 0, slotHeader), slotMagic...)
	head = binary.LittleEndian.AppendUint32(head, slotVersion)
	head = binary.LittleEndian.AppendUint32(head, uint32(len(s.Note)))
	head = binary.LittleEndian.AppendUint64(head, uint64(s.Round))
	put(binary.LittleEndian.AppendUint64(head, uint64(len(s.State))))
	put(s.State)
	put([]byte(s.Note))
	sum.Sum(digest[:0])
	put(digest[:])
	return digest, err
}

// readSlot reads the slot in a file of the given size and allocates no more memory than that size. Callers prefix the
// error with the name of the file. If nothing was ever saved, readSlot returns errEmpty.
func readSlot(r io.ReaderAt, size int64) (slot, error) {
	var s slot
	head := make([]byte, min(size, slotHeader))
	if err := readAt(r, head, 0); err != nil {
		return s, err
	}
	if len(bytes.Trim(head, "\x00")) == 0 {
		return s, errEmpty
	}
	if len(head) < slotHeader || string(head[:8]) != slotMagic {
		return s, errors.New("does not start with a slot header")
	}
	s.version = binary.LittleEndian.Uint32(head[8:])
	note := int64(binary.LittleEndian.Uint32(head[12:]))
	round := binary.LittleEndian.Uint64(head[16:])
	length := binary.LittleEndian.Uint64(head[24:])
	room := size - slotHeader - sha256.Size
	if note > room || length > uint64(max(room-note, 0)) {
		return s, errors.New("is shorter than its header states")
	}
	if length+uint64(note) > math.MaxInt-slotOverhead || round > math.MaxInt {
		return s, fmt.Errorf("has a header with a round (%d) or a length that is too large for this machine", round)
	}
	s.Round = int(round)
	all := make([]byte, slotHeader+int(length)+int(note)+sha256.Size)
	if err := readAt(r, all[copy(all, head):], slotHeader); err != nil { // a running node may have changed the header
		return s, err
	}
	body, digest := all[:len(all)-sha256.Size], all[len(all)-sha256.Size:]
	s.digest = [sha256.Size]byte(digest)
	if sha256.Sum256(body) != s.digest {
		return s, fmt.Errorf("does not match its SHA-256 (its header states round %d)", round)
	}
	s.State, s.Note = body[slotHeader:slotHeader+length:slotHeader+length], string(body[slotHeader+length:])
	return s, nil
}

// readAt fills b with the bytes of r from offset off on. It fails if r ends before b is full.
func readAt(r io.ReaderAt, b []byte, off int64) error {
	if n, err := r.ReadAt(b, off); n < len(b) {
		return fmt.Errorf("cannot be read: %w", err)
	}
	return nil
}
