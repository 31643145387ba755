package pair

import (
	"bytes"
	"crypto/ecdh"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/spade-dfl/spade-edge/sdk/signed"
)

// Kept holds the secrets of a run that a device stores: its private key and the offers of other members.
type Kept struct {
	Fleet   [32]byte // hash of the fleet
	Member  string
	Own     signed.Statement              // the device's offer; Own.Round is the first release that uses Private
	Private *ecdh.PrivateKey              // nil after the last release that uses it
	Peers   map[string][]signed.Statement // offers by member name, in ascending order of Round
}

// Secret returns the secret that is shared with a neighbor for the noise of a release. ok is false if one of the two
// keys starts after that release or is missing. k may be nil.
func (k *Kept) Secret(neighbor string, release int) (s Secret, ok bool) {
	if k == nil || k.Private == nil {
		return s, false
	}
	for _, o := range slices.Backward(k.Peers[neighbor]) {
		if k.Own.Round <= release && o.Round <= release {
			s, err := Agree(k.Private, k.Member, o.Value, neighbor, k.Fleet)
			return s, err == nil
		}
	}
	return s, false
}

// Add stores another member's offer and discards stored offers that start at the same release or later. It keeps the
// last two offers: a replacement device's offer starts up to three releases ahead, and until then the previous offer
// applies.
func (k *Kept) Add(neighbor string, o signed.Statement) {
	list := slices.DeleteFunc(slices.Clone(k.Peers[neighbor]),
		func(old signed.Statement) bool { return old.Round >= o.Round })
	list = append(list, o)
	if k.Peers == nil {
		k.Peers = make(map[string][]signed.Statement)
	}
	k.Peers[neighbor] = list[max(0, len(list)-2):]
}

const lostSecrets = "if nothing was released yet, remove the secrets; otherwise restore the secrets, or empty the folder and " +
	"let the device take the place of a lost one"

type keptFields struct {
	Fleet   []byte                        `json:"fleet"`
	Member  string                        `json:"member"`
	Own     signed.Statement              `json:"own"`
	Private []byte                        `json:"private,omitempty"`
	Offered map[string][]signed.Statement `json:"offered,omitempty"`
	Sum     []byte                        `json:"sha256,omitempty"` // of the encoding without Sum
}

// Encode returns the canonical JSON form, one line, without the signature of Own.
func (k *Kept) Encode() ([]byte, error) {
	f := keptFields{Fleet: k.Fleet[:], Member: k.Member, Own: unsigned(k.Own), Offered: k.Peers}
	if k.Private != nil {
		f.Private = k.Private.Bytes()
	}
	plain, err := json.Marshal(f)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(plain)
	f.Sum = sum[:]
	b, err := json.Marshal(f)
	return append(b, '\n'), err
}

func unsigned(o signed.Statement) signed.Statement {
	return signed.Statement{Kind: signed.Offer, Round: o.Round, Value: o.Value}
}

// ParseKept parses the output of [Kept.Encode] and rejects everything else.
func ParseKept(b []byte) (*Kept, error) {
	var f keptFields
	err := json.Unmarshal(b, &f)
	k := &Kept{Member: f.Member, Own: unsigned(f.Own)}
	copy(k.Fleet[:], f.Fleet)
	if err == nil && f.Private != nil {
		k.Private, err = ecdh.X25519().NewPrivateKey(f.Private)
		clear(f.Private)
	}
	for name, offers := range f.Offered {
		for _, o := range offers {
			k.Add(name, o)
		}
	}
	if err == nil {
		var again []byte
		if again, err = k.Encode(); err == nil && !bytes.Equal(again, b) {
			err = errors.New("the file was changed after it was written")
		}
	}
	if err != nil {
		return nil, fmt.Errorf("pair: secrets: %w; "+lostSecrets, err)
	}
	return k, nil
}
