package signed

import (
	"crypto/ed25519"
	"encoding/binary"
	"fmt"
	"math"
)

// Notice is what a member tells a neighbor that it has put in quarantine: from some release on it goes on without it.
// It says nothing of what the neighbor has done.
type Notice struct {
	Epoch       uint16 // of the device that tells it, as in [Release]
	Incarnation uint64 // likewise
	From        int    // the first release of the teller that is made without the neighbor, 1..MaxInt32
	Signature   [ed25519.SignatureSize]byte
}

// NoticeSize is the length in bytes of a notice as [Notice.Append] writes it.
const NoticeSize = noticeBody + ed25519.SignatureSize

const (
	noticeBody = 8 + 4
	noticeTag  = "spade-edge quarantine 1\n"
)

// Append appends the notice to dst: epoch and incarnation in one integer of eight bytes and From in four, both
// big-endian, and the signature.
func (n *Notice) Append(dst []byte) []byte { return append(n.appendBody(dst), n.Signature[:]...) }

func (n *Notice) appendBody(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint64(dst, PackDevice(n.Epoch, n.Incarnation))
	return binary.BigEndian.AppendUint32(dst, uint32(n.From))
}

// ParseNotice reads what [Notice.Append] wrote. It does not look at the signature.
func ParseNotice(b []byte) (Notice, error) {
	if len(b) != NoticeSize {
		return Notice{}, fmt.Errorf("signed: notice: found %d bytes, want %d", len(b), NoticeSize)
	}
	from := binary.BigEndian.Uint32(b[8:])
	if from < 1 || from > math.MaxInt32 {
		return Notice{}, fmt.Errorf("signed: notice: found one from release %d on, want 1..%d", from, math.MaxInt32)
	}
	n := Notice{From: int(from), Signature: [ed25519.SignatureSize]byte(b[noticeBody:])}
	n.Epoch, n.Incarnation = UnpackDevice(binary.BigEndian.Uint64(b))
	return n, nil
}

// message is what is signed: the scope is that of the member that tells it, neighbor the name of who is told.
func (n *Notice) message(s Scope, neighbor string) []byte {
	b := append([]byte(noticeTag), s[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(len(neighbor)))
	return n.appendBody(append(b, neighbor...))
}

// Sign signs the notice to a neighbor in the scope of the member that tells it, with its key.
func (n *Notice) Sign(key ed25519.PrivateKey, s Scope, neighbor string) {
	copy(n.Signature[:], ed25519.Sign(key, n.message(s, neighbor)))
}

// Verify reports whether one of keys has signed the notice to a neighbor in a scope. The error wraps [ErrSignature].
func (n *Notice) Verify(s Scope, neighbor string, keys []ed25519.PublicKey) error {
	return verify(keys, n.message(s, neighbor), n.Signature[:], "notice of quarantine")
}
