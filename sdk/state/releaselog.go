package state

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"
)

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
	releases   []release // the lines that are readable
	end        int64     // bytes of complete lines; an incomplete line follows after a crash
	size       int64     // size of the file
	newest     int       // highest round of any line, even of an incomplete line; -1 if there is none
	unreadable int       // number of unreadable lines
}

// readLog parses a log and never fails. A line is written only after its slot is durable, so even a damaged line proves
// that its round was saved, if the round is readable.
func readLog(text []byte) releaseLog {
	l := releaseLog{size: int64(len(text)), newest: -1}
	for line := range bytes.Lines(text) {
		line, whole := bytes.CutSuffix(line, []byte{'\n'})
		round, known := roundOf(line)
		if known {
			l.newest = max(l.newest, round)
		}
		if !whole {
			break
		}
		l.end += int64(len(line)) + 1
		var entry release
		err := json.Unmarshal(line, &entry)
		if err != nil || !known || entry.Round != round || len(entry.Digest) != 2*sha256.Size {
			l.unreadable++
			continue
		}
		l.releases = append(l.releases, entry)
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
// the same round.
func (l *releaseLog) find(s slot) (has, other bool) {
	digest := hex.EncodeToString(s.digest[:])
	for _, e := range l.releases {
		if e.Round == s.Round {
			same := strings.EqualFold(e.Digest, digest)
			has, other = has || same, other || !same
		}
	}
	return has, other
}
