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

// A slot is a file that holds one state:
//
//	magic "SPADEslt" | version uint32 | note length uint32 | round uint64 | state length uint64 | state | note | SHA-256
//
// in little-endian order, the digest over everything before it; what follows is room for longer states. Later versions
// keep the header and the place of the digest, so that a slot of another build is not taken for a damaged one.
//
// A new state overwrites the older one in place. One sync after the last write is enough: after a crash the file is a
// mix of old and new bytes, and a mix that is neither the old slot nor the new one does not match its SHA-256. Whether
// the old slot or the new one is found does not matter, since nothing was sent before that sync, and the other file,
// which holds the newest state, was not touched.
const (
	slotMagic    = "SPADEslt"
	slotVersion  = 1
	slotHeader   = 32
	slotOverhead = slotHeader + MaxNote + sha256.Size
)

// slot is a slot's content.
type slot struct {
	Record         // State only if asked for
	length  int64  // of the state
	version uint32 // of the format
	digest  [sha256.Size]byte
}

// errEmpty says that nothing has been saved in a slot yet.
var errEmpty = errors.New("holds nothing yet")

// writeSlot writes s to w from its start, digest last, without a copy of the state, and returns the digest.
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

// readSlot reads the slot in a file of the given size; the state itself only if keep is set. It allocates nothing that
// the file is too small to fill. The error says, after the name of the file, why there is no whole slot; it is errEmpty
// if there never was one.
func readSlot(r io.ReaderAt, size int64, keep bool) (slot, error) {
	var s slot
	head := make([]byte, min(size, slotHeader))
	if err := readAt(r, head, 0); err != nil {
		return s, err
	}
	if len(bytes.Trim(head, "\x00")) == 0 {
		return s, errEmpty
	}
	if len(head) < slotHeader || string(head[:8]) != slotMagic {
		return s, errors.New("does not start as a slot does")
	}
	s.version = binary.LittleEndian.Uint32(head[8:])
	note := binary.LittleEndian.Uint32(head[12:])
	round := binary.LittleEndian.Uint64(head[16:])
	length := binary.LittleEndian.Uint64(head[24:])
	room := size - slotHeader - sha256.Size
	if int64(note) > room || length > uint64(max(room-int64(note), 0)) {
		return s, errors.New("is too short for the state that it announces")
	}
	if length > math.MaxInt || note > math.MaxInt32 || round > math.MaxInt {
		return s, fmt.Errorf("announces round %d and a length that are more than this machine can count", round)
	}
	s.Round, s.length = int(round), int64(length)

	sum, body, text := sha256.New(), io.NewSectionReader(r, slotHeader, size), make([]byte, note)
	sum.Write(head)
	hashed := io.TeeReader(body, sum)
	var err error
	if keep {
		s.State = make([]byte, length)
		_, err = io.ReadFull(hashed, s.State)
	} else {
		_, err = io.CopyN(io.Discard, hashed, s.length)
	}
	if err == nil {
		_, err = io.ReadFull(hashed, text)
	}
	if err == nil {
		_, err = io.ReadFull(body, s.digest[:])
	}
	if err != nil {
		return s, fmt.Errorf("cannot be read: %w", err)
	}
	s.Note = string(text)
	if !bytes.Equal(sum.Sum(nil), s.digest[:]) {
		return s, fmt.Errorf("does not match its SHA-256 (it announces round %d)", round)
	}
	return s, nil
}

// readAt fills b from off. The end of the file is an error like any other.
func readAt(r io.ReaderAt, b []byte, off int64) error {
	if n, err := r.ReadAt(b, off); n < len(b) {
		return fmt.Errorf("cannot be read: %w", err)
	}
	return nil
}
