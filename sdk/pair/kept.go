package pair

import (
	"bytes"
	"crypto/ecdh"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/spade-dfl/spade-edge/sdk/signed"
)

// Kept is what a device keeps of a run's secrets while the run goes on: its own private key, and what its neighbors
// offer.
type Kept struct {
	Fleet   [32]byte // hash of the fleet
	Member  string
	Epoch   uint16 // of the device, see [signed.Statement]
	From    int    // the first release that uses Private
	Public  [32]byte
	Private *ecdh.PrivateKey              // nil once the device has made the last release that uses it
	Peers   map[string][]signed.Statement // offers by the neighbors' names, in ascending order of Round; no signatures
}

// Offer returns what the device offers its neighbors, without a signature.
func (k *Kept) Offer() signed.Statement {
	return signed.Statement{Epoch: k.Epoch, Kind: signed.Offer, Round: k.From, Value: k.Public}
}

// Secret returns the secret with a neighbor that makes the noise of a release. There is none before the first release
// of either key pair.
func (k *Kept) Secret(neighbor string, release int) (s Secret, ok bool) {
	for _, o := range slices.Backward(k.Peers[neighbor]) {
		if k.Private != nil && k.From <= release && o.Round <= release {
			s, err := Agree(k.Private, k.Member, o.Value, neighbor, k.Fleet)
			return s, err == nil
		}
	}
	return s, false
}

// Add takes in what a neighbor offers, in place of what will not count any more: all that begins as late or later.
// The two latest are kept, for a neighbor's new device begins up to three releases ahead.
func (k *Kept) Add(neighbor string, o signed.Statement) {
	o.Signature = [64]byte{}
	list := slices.DeleteFunc(slices.Clone(k.Peers[neighbor]),
		func(old signed.Statement) bool { return old.Round >= o.Round || old.Epoch == o.Epoch })
	list = append(list, o)
	if k.Peers == nil {
		k.Peers = make(map[string][]signed.Statement)
	}
	k.Peers[neighbor] = list[max(0, len(list)-maxOffers):]
}

const maxOffers = 2

// lostSecrets ends the errors of [ParseKept].
const lostSecrets = "if nothing was released yet, remove them; else bring them back, or empty the folder and let the device " +
	"take the place of a lost one"

// keptFields is the JSON form of [Kept].
type keptFields struct {
	Fleet   string      `json:"fleet"`
	Member  string      `json:"member"`
	Own     keptOffer   `json:"own"`
	Private string      `json:"private,omitempty"`
	Offered []keptOffer `json:"offered"`
	Sum     string      `json:"sha256"` // of the form with an empty sum
}

type keptOffer struct {
	By    string `json:"by,omitempty"`
	Epoch uint16 `json:"epoch"`
	From  int    `json:"from"`
	Key   string `json:"key"` // the public one
}

// Encode returns the one JSON form of what is kept, one line.
func (k *Kept) Encode() ([]byte, error) {
	f := keptFields{Fleet: hex.EncodeToString(k.Fleet[:]), Member: k.Member,
		Own: keptOffer{Epoch: k.Epoch, From: k.From, Key: hex.EncodeToString(k.Public[:])}}
	if k.Private != nil {
		f.Private = hex.EncodeToString(k.Private.Bytes())
	}
	for _, name := range slices.Sorted(maps.Keys(k.Peers)) {
		for _, o := range k.Peers[name] {
			f.Offered = append(f.Offered, keptOffer{name, o.Epoch, o.Round, hex.EncodeToString(o.Value[:])})
		}
	}
	plain, err := json.Marshal(f)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(plain)
	f.Sum = hex.EncodeToString(sum[:])
	b, err := json.Marshal(f)
	return append(b, '\n'), err
}

// ParseKept reads what [Kept.Encode] wrote, and refuses everything else.
func ParseKept(b []byte) (*Kept, error) {
	var f keptFields
	if err := json.Unmarshal(b, &f); err != nil {
		return nil, fmt.Errorf("pair: secrets: %w; "+lostSecrets, err)
	}
	k := &Kept{Member: f.Member, Epoch: f.Own.Epoch, From: f.Own.From}
	err := errors.Join(key32(&k.Fleet, f.Fleet), key32(&k.Public, f.Own.Key), checkFrom(k.From))
	if f.Private != "" {
		var private [32]byte
		err = errors.Join(err, key32(&private, f.Private))
		k.Private, _ = ecdh.X25519().NewPrivateKey(private[:]) // of its length every one is
		clear(private[:])
	}
	for _, o := range f.Offered {
		offer := signed.Statement{Epoch: o.Epoch, Kind: signed.Offer, Round: o.From}
		err = errors.Join(err, key32(&offer.Value, o.Key), checkFrom(o.From))
		k.Add(o.By, offer)
	}
	if err != nil {
		return nil, fmt.Errorf("pair: secrets: %w; "+lostSecrets, err)
	}
	if again, err := k.Encode(); err != nil || !bytes.Equal(again, b) {
		return nil, errors.New("pair: secrets: not as they were written; " + lostSecrets)
	}
	return k, nil
}

func key32(to *[32]byte, text string) error {
	b, err := hex.DecodeString(text)
	if err == nil && len(b) != len(to) {
		err = fmt.Errorf("found %d bytes, want %d", len(b), len(to))
	}
	copy(to[:], b)
	return err
}

func checkFrom(from int) error {
	if from < 1 || from > math.MaxInt32 {
		return fmt.Errorf("found a key from release %d on, want 1..%d", from, math.MaxInt32)
	}
	return nil
}
