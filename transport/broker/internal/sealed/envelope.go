package sealed

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/spade-dfl/spade-edge/transport/internal/endpoint"
)

// An envelope consists of a header, the content key sealed once for each key of the receiver, the piece of a frame sealed
// with the content key, and the sender's signature.
const (
	version    = 1
	lenHeader  = 123 // of a header
	lenWrapped = sha256.Size + tagSize
	tagSize    = 16 // of AES-GCM
	maxKeys    = 2

	// overhead is an upper bound on the bytes that an envelope adds to its piece.
	overhead = lenHeader + maxKeys*lenWrapped + tagSize + ed25519.SignatureSize
)

// header is the start of an envelope, which the broker can read. Package binary encodes it, in big-endian order.
type header struct {
	Version   byte
	Kind      byte     // kindHello or kindFrame
	Run       [16]byte // tag of the run
	From, To  [8]byte  // tags of the sender and the receiver
	Fleet     [32]byte // hash of the sender's fleet
	Process   uint64   // random number that identifies the sender's process
	Number    uint64   // number of the frame from this process to this receiver
	Index     uint16   // index of the piece in its frame
	Total     uint16   // number of pieces
	Length    uint32   // length of the whole frame in bytes
	Keys      byte     // number of the receiver's keys that can open the envelope, 1..maxKeys
	Ephemeral [32]byte // X25519 public key, used for this envelope only
}

const (
	kindHello = 1
	kindFrame = 2
)

// These are the prefixes of the data that this package hashes or signs. Each purpose has its own prefix, so that a hash
// or signature for one purpose is not valid for any other.
const (
	domainTag  = "spade-edge broker 1 tag"
	domainEdge = "spade-edge broker 1 envelope"
	domainSign = "spade-edge broker 1 signature"
	domainWrap = "spade-edge broker 1 content key"
)

// These are the reasons for refusing an envelope. Only the sender can cause a refusal for one of the last two reasons;
// the broker can cause all other refusals.
var (
	ErrForm      = errors.New("the message is not a valid envelope")
	ErrRun       = errors.New("the message belongs to another run")
	ErrCrossed   = errors.New("the sender or receiver in the message differs from the one that the broker reports")
	ErrSignature = errors.New("the signature does not match the sender's key: the message was altered, or another party sent it")
	ErrSealed    = errors.New("the message is sealed for a key other than this node's key")
	ErrFleet     = errors.New("the sender belongs to another fleet")
)

// tag returns the first n bytes of a hash of a run's name and, optionally, a member's name. The broker sees only tags,
// not names.
func tag(n int, run string, name ...string) []byte {
	b := appendText([]byte(domainTag), run)
	for _, s := range name {
		b = appendText(b, s)
	}
	sum := sha256.Sum256(b)
	return sum[:n]
}

// appendText appends the length of s and then s, so that different lists of strings always have different encodings.
func appendText(b []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint32(b, uint32(len(s))), s...)
}

// edge is one direction of a connection between two members of a run. Every envelope is cryptographically bound to its
// edge.
type edge struct {
	run, from, to  string
	runTag         [16]byte
	fromTag, toTag [8]byte
}

func newEdge(run, from, to string) edge {
	return edge{run: run, from: from, to: to, runTag: [16]byte(tag(16, run)), fromTag: [8]byte(tag(8, run, from)),
		toTag: [8]byte(tag(8, run, to))}
}

// bound returns the additional data that encryption and signature authenticate: the names of the run, the sender and
// the receiver, followed by head, the first bytes of the envelope.
func (e *edge) bound(head []byte) []byte {
	b := appendText([]byte(domainEdge), e.run)
	b = appendText(appendText(b, e.from), e.to)
	return append(b, head...)
}

// pieceSize returns the size of the pieces, in bytes, when a frame is split into the given total number of pieces. The
// last piece may be shorter.
func pieceSize(length, total int) int { return (length + total - 1) / total }

// piece returns the start and end offsets of the envelope's piece in the frame.
func (h *header) piece() (from, to int) {
	size := pieceSize(int(h.Length), int(h.Total))
	from = int(h.Index) * size
	return from, min(from+size, int(h.Length))
}

// seal encrypts and signs one piece of a frame. The parameter "to" lists the receiver's public keys; the owner of any
// of these keys can decrypt the result.
func seal(e *edge, h header, key ed25519.PrivateKey, to []*ecdh.PublicKey, piece []byte) ([]byte, error) {
	once, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	h.Version, h.Run, h.From, h.To = version, e.runTag, e.fromTag, e.toTag
	h.Keys, h.Ephemeral = byte(len(to)), [32]byte(once.PublicKey().Bytes())
	b, _ := binary.Append(make([]byte, 0, len(piece)+overhead), binary.BigEndian, &h) // never fails for a header
	content := make([]byte, 32)
	_, _ = rand.Read(content) // never fails
	head := e.bound(b)
	for _, k := range to {
		wrap, err := wrapping(head, once, k, k)
		if err != nil {
			return nil, err
		}
		b = wrap.Seal(b, noNonce, content, nil)
	}
	head = e.bound(b)
	b = gcm(content).Seal(b, noNonce, piece, head)
	return append(b, ed25519.Sign(key, digest(head, b[len(b)-len(piece)-tagSize:]))...), nil
}

// noNonce is an all-zero nonce. It is safe because each key encrypts only once.
var noNonce = make([]byte, 12)

// gcm returns AES-GCM for a key of 32 bytes. Package cipher fails only for keys and blocks of other sizes.
func gcm(key []byte) cipher.AEAD {
	block, _ := aes.NewCipher(key)
	aead, _ := cipher.NewGCM(block)
	return aead
}

// wrapping returns the cipher that encrypts the content key for one of the receiver's keys. HKDF (RFC 5869) derives the
// key of this cipher from the shared secret, the receiver's key, and the beginning of the envelope (the parameter
// head), which includes the ephemeral public key.
func wrapping(head []byte, own *ecdh.PrivateKey, other, receiver *ecdh.PublicKey) (cipher.AEAD, error) {
	secret, err := own.ECDH(other)
	if err != nil {
		return nil, err
	}
	salt := sha256.Sum256(append(head[:len(head):len(head)], receiver.Bytes()...))
	key, err := hkdf.Key(sha256.New, secret, salt[:], domainWrap, 32)
	if err != nil {
		return nil, err
	}
	return gcm(key), nil
}

// digest returns the hash that the sender signs.
func digest(head, body []byte) []byte {
	h := sha256.New()
	h.Write(head)
	h.Write(body)
	return h.Sum([]byte(domainSign))
}

// envelope is a parsed, well-formed envelope, whose signature has not been verified yet.
type envelope struct {
	header
	head              []byte // everything before the sealed piece
	sealed, signature []byte
}

// parse parses an envelope. The slices in the result share memory with b.
func parse(b []byte) (*envelope, error) {
	if len(b) > 0 && b[0] != version {
		return nil, fmt.Errorf("%w: version is %d, want %d", ErrForm, b[0], version)
	}
	v := new(envelope)
	if _, err := binary.Decode(b, binary.BigEndian, &v.header); err != nil {
		return nil, fmt.Errorf("%w: the message has only %d bytes", ErrForm, len(b))
	}
	length, total := int(v.Length), int(v.Total)
	switch {
	case v.Kind != kindHello && v.Kind != kindFrame:
		return nil, fmt.Errorf("%w: kind is %d, want %d or %d", ErrForm, v.Kind, kindHello, kindFrame)
	case v.Keys < 1 || v.Keys > maxKeys:
		return nil, fmt.Errorf("%w: the number of receiver keys is %d, want 1 or 2", ErrForm, v.Keys)
	case v.Length > endpoint.LargestMaxFrame:
		return nil, fmt.Errorf("%w: the frame has %d bytes, want at most %d", ErrForm, v.Length, endpoint.LargestMaxFrame)
	case v.Index >= v.Total || total > max(1, length) || (total-1)*pieceSize(length, total) >= max(1, length):
		return nil, fmt.Errorf("%w: piece %d of %d cannot belong to a frame of %d bytes", ErrForm, v.Index, v.Total, v.Length)
	}
	from, to := v.piece()
	end := lenHeader + int(v.Keys)*lenWrapped
	if want := end + to - from + tagSize + ed25519.SignatureSize; len(b) != want {
		return nil, fmt.Errorf("%w: the message has %d bytes, want %d", ErrForm, len(b), want)
	}
	last := len(b) - ed25519.SignatureSize
	v.head, v.sealed, v.signature = b[:end], b[end:last], b[last:]
	return v, nil
}

// verify checks the signature of an envelope. If verify returns nil, the header is authentic, and the owner of one of
// the keys in pins sent the envelope on the edge e.
func (v *envelope) verify(e *edge, pins []ed25519.PublicKey) error {
	switch {
	case v.Run != e.runTag:
		return ErrRun
	case v.From != e.fromTag || v.To != e.toTag:
		return ErrCrossed
	}
	sum := digest(e.bound(v.head), v.sealed)
	for _, k := range pins {
		if ed25519.Verify(k, sum, v.signature) {
			return nil
		}
	}
	return ErrSignature
}

// open decrypts the piece of a verified envelope. It decrypts in place and so overwrites the envelope.
func (v *envelope) open(e *edge, own *ecdh.PrivateKey) ([]byte, error) {
	once, err := ecdh.X25519().NewPublicKey(v.Ephemeral[:])
	if err != nil {
		return nil, ErrSealed
	}
	wrap, err := wrapping(e.bound(v.head[:lenHeader]), own, once, own.PublicKey())
	if err != nil {
		return nil, ErrSealed
	}
	for wrapped := range slices.Chunk(v.head[lenHeader:], lenWrapped) {
		content, err := wrap.Open(nil, noNonce, wrapped, nil)
		if err != nil {
			continue
		}
		piece, err := gcm(content).Open(v.sealed[:0], noNonce, v.sealed, e.bound(v.head))
		if err != nil {
			break
		}
		return piece, nil
	}
	return nil, ErrSealed
}
