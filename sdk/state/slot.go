package state

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
)

// A slot is a file with one state:
//
//	magic "SPADEslt" | version uint32 | note length uint32 | round uint64 | state length uint64 | state | note | SHA-256
//
// in little-endian order. The digest covers everything before it; room for longer states follows. Later versions keep
// the header and the place of the digest, so that an older build does not mistake a newer slot for a damaged slot. One
// sync suffices, because a mix of old and new bytes does not match its SHA-256.
const (
	slotMagic    = "SPADEslt"
	slotVersion  = 1
	slotHeader   = 32
	slotOverhead = slotHeader + MaxNote + sha256.Size
)

type slot struct {
	Record
	digest [sha256.Size]byte
}

var (
	// errEmpty is the error for a slot that is missing or was never saved to.
	errEmpty = errors.New("holds nothing yet, or is missing")
	// errFormat is wrapped by the error for a whole slot of another version.
	errFormat = errors.New("continue with the build that wrote it")
)

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
	if v := binary.LittleEndian.Uint32(all[8:]); v != slotVersion {
		return s, fmt.Errorf("has format %d, but this build reads format %d: %w", v, slotVersion, errFormat)
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

// release is a line of the log of releases, written once the slot of a save is durable:
//
//	{"round":7,"digest":"<the slot's SHA-256 in hex>","note":...}
type release struct {
	Round  int             `json:"round"`
	Digest string          `json:"digest"`
	Note   json.RawMessage `json:"note,omitempty"`
}

func releaseLine(r Record, digest [sha256.Size]byte) ([]byte, error) {
	b, err := json.Marshal(release{r.Round, hex.EncodeToString(digest[:]), json.RawMessage(r.Note)})
	return append(b, '\n'), err
}

type releaseLog struct {
	text   []byte
	end    int // bytes of complete lines; an incomplete line follows after a crash
	newest int // highest round of any line, even of an incomplete or damaged one; -1 if no line has a round
}

// readLog parses a log and never fails. A line is written only after its slot is durable, so even a damaged line proves
// that its round was saved, if the round is readable.
func readLog(text []byte) releaseLog {
	l := releaseLog{text: text, end: bytes.LastIndexByte(text, '\n') + 1, newest: -1}
	for line := range bytes.Lines(text) {
		if round, known := roundOf(line); known {
			l.newest = max(l.newest, round)
		}
	}
	return l
}

// roundOf returns the round at the start of a line, even if the rest of the line is damaged.
func roundOf(line []byte) (round int, known bool) {
	rest, begins := bytes.CutPrefix(line, []byte(`{"round":`))
	digits, _, ends := bytes.Cut(rest, []byte{','})
	round, err := strconv.Atoi(string(digits))
	return round, begins && ends && err == nil && round >= 0
}

// find reports whether the log has the release in s (same round and digest), and whether it has a different release of
// the same round. It ignores damaged lines.
func (l *releaseLog) find(s slot) (has, other bool) {
	for line := range bytes.Lines(l.text[:l.end]) {
		var e release
		if round, known := roundOf(line); !known || round != s.Round || json.Unmarshal(line, &e) != nil || len(e.Digest) != 2*sha256.Size {
			continue
		}
		same := e.Digest == hex.EncodeToString(s.digest[:])
		has, other = has || same, other || !same
	}
	return has, other
}
