package fleetfile

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spade-dfl/spade-edge/dpmech/strict"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/pair"
	"github.com/spade-dfl/spade-edge/transport"
)

// memberForm is the JSON form of a [Member] in a fleet file.
type memberForm struct {
	Name      string   `json:"name"`
	Keys      []string `json:"keys"`
	Retired   []string `json:"retired,omitempty"`
	PairKey   string   `json:"pair_key,omitempty"`
	PairKeys  []string `json:"pair_keys,omitempty"`
	Addresses []string `json:"addresses,omitempty"`
}

// ParseMember reads a member in the form of a fleet file but without the key of a run, as [Member.MarshalJSON] writes it.
func ParseMember(text []byte) (Member, error) {
	var form memberForm
	if err := strict.ReadJSON(text, &form); err != nil {
		return Member{}, err
	}
	if form.PairKey != "" {
		return Member{}, fmt.Errorf("member.pair_key is %q, want none: init and fleet take keys from pair_keys", form.PairKey)
	}
	return form.member("member", map[string]string{})
}

// MarshalJSON returns the member in the form of a fleet file.
func (m Member) MarshalJSON() ([]byte, error) {
	return Encode(m.form()) // Encode does not escape <
}

func (m Member) form() memberForm {
	form := memberForm{Name: m.Name, Keys: formatKeys(m.Keys), Retired: formatKeys(m.Retired), Addresses: m.Addresses}
	for _, k := range m.PairKeys {
		form.PairKeys = append(form.PairKeys, k.String())
	}
	return form
}

func formatKeys(keys []ed25519.PublicKey) []string {
	texts := []string{}
	for _, k := range keys {
		texts = append(texts, transport.FormatKey(k))
	}
	return texts
}

// member validates the member at place, a location in the file. owner maps each key seen so far to its location; member
// adds the keys of this member to the map.
func (m memberForm) member(place string, owner map[string]string) (Member, error) {
	var errs faults
	errs.when(len(m.Keys) < 1 || len(m.Keys) > 2,
		"%s.keys has %d keys, want 1 or 2: the current one and, while it is being replaced, the next", place, len(m.Keys))
	errs.when(len(m.Retired) > MaxRetired, "%s.retired has %d keys, want at most %d: those that may no longer connect, but whose "+
		"past signatures count", place, len(m.Retired), MaxRetired)
	keys := func(place string, texts []string) (keys []ed25519.PublicKey) {
		for i, text := range texts {
			key, err := transport.ParseKey(text)
			errs.once(fmt.Sprintf("%s[%d]", place, i), text, err, owner)
			keys = append(keys, key)
		}
		return keys
	}
	out := Member{Name: m.Name, Keys: keys(place+".keys", m.Keys), Retired: keys(place+".retired", m.Retired)}
	errs.when(len(m.PairKeys) > maxPairKeys, "%s.pair_keys has %d keys, want at most %d", place, len(m.PairKeys), maxPairKeys)
	for i, text := range m.PairKeys {
		out.PairKeys = append(out.PairKeys, errs.pairKey(fmt.Sprintf("%s.pair_keys[%d]", place, i), text, owner))
	}
	for i, a := range m.Addresses {
		_, _, err := transport.ParseAddress(a)
		errs.at(fmt.Sprintf("%s.addresses[%d]", place, i), err)
		out.Addresses = append(out.Addresses, a)
	}
	return out, errors.Join(errs...)
}

// maxPairKeys is the maximum number of unused one-time keys of a member in a fleet file.
const maxPairKeys = 1000

// pairKey parses a one-time key. owner maps each key seen so far to its location.
func (f *faults) pairKey(place, text string, owner map[string]string) (key pair.Public) {
	f.once(place, text, key.UnmarshalText([]byte(text)), owner)
	return key
}

// once adds err, which is about the key in text, or an error if owner has the same key: a valid key has one text form.
func (f *faults) once(place, text string, err error, owner map[string]string) {
	f.at(place, err)
	first, taken := owner[text]
	f.when(err == nil && taken, "%s is %s, which is %s already; want every key once", place, text, first)
	owner[text] = place
}

// pairKeys parses the members' one-time keys of this run. Each member has one if members share noise.
func (f *faults) pairKeys(fleet *sdk.Fleet, members []memberForm, owner map[string]string) {
	var missing []string
	before := len(*f)
	for i, m := range members {
		if m.PairKey == "" {
			missing = append(missing, m.Name)
			continue
		}
		fleet.PairKeys = append(fleet.PairKeys, f.pairKey(fmt.Sprintf("members[%d].pair_key", i), m.PairKey, owner))
	}
	f.when(missing != nil && fleet.Privacy.PairSigma > 0, "members: %q have no pair_key, want one of each, because members share "+
		"noise: %w", missing, ErrNoPairKey)
	f.when(missing != nil && fleet.PairKeys != nil && fleet.Privacy.PairSigma == 0, "members: all but %q have a pair_key, want none, "+
		"because members share no noise", missing)
	if len(*f) > before { // Plan would report the same again
		fleet.PairKeys = nil
	}
}

// ErrNoPairKey reports members without a one-time key.
var ErrNoPairKey = errors.New("one-time keys are made on the member's device, and serve one run each")

// checkAddresses checks that at least one of each pair of neighbors has an address. The fleet must be valid. If no
// member has an address, the fleet connects through a broker, and there is nothing to check.
func (f *File) checkAddresses() (errs faults) {
	some := func(m Member) bool { return len(m.Addresses) > 0 }
	if !slices.ContainsFunc(f.Members, some) {
		return nil
	}
	number := make(map[string]int, len(f.Members))
	for i, m := range f.Members {
		number[m.Name] = i
	}
	for _, e := range f.Fleet.Edges {
		i, j := number[min(e[0], e[1])], number[max(e[0], e[1])]
		errs.when(!some(f.Members[i]) && !some(f.Members[j]),
			"members[%d].addresses and members[%d].addresses are empty, want an address for one of them: "+
				"%q and %q are neighbors (only a fleet that connects through a broker has no addresses)", j, i, f.Members[i].Name, f.Members[j].Name)
	}
	return errs
}

// CheckMembers returns an error unless Members has the members of Fleet, in their order.
func (f *File) CheckMembers() error {
	if !slices.EqualFunc(f.Members, f.Fleet.Members, func(m Member, name string) bool { return m.Name == name }) {
		return fmt.Errorf("fleetfile: Members differs from Fleet.Members, want the names %q in this order, with their keys", f.Fleet.Members)
	}
	return nil
}

// Peers returns the neighbors of a member as peers for a transport, in the order of the file; nil if self is not a
// member. The keys and addresses of the peers share memory with f.
func (f *File) Peers(self string) []transport.Peer {
	neighbors := map[string]bool{}
	for _, e := range f.Fleet.Edges {
		if slices.Contains(e[:], self) {
			neighbors[e[0]], neighbors[e[1]] = true, true
		}
	}
	var peers []transport.Peer
	for _, m := range f.Members {
		if neighbors[m.Name] && m.Name != self {
			peers = append(peers, transport.Peer{Name: m.Name, Keys: m.Keys, Addresses: m.Addresses})
		}
	}
	return peers
}

// SigningKeys returns the keys that verify a member's releases: the current keys followed by the retired keys. It
// returns nil if the fleet has no member of that name.
func (f *File) SigningKeys(member string) []ed25519.PublicKey {
	for _, m := range f.Members {
		if m.Name == member {
			return slices.Concat(m.Keys, m.Retired)
		}
	}
	return nil
}

// CheckIdentity returns an error if the node cannot be the member that its file names. There are three reasons: the
// fleet has no member of that name; the member does not have the given key; or a neighbor must dial the node, but the
// node does not listen.
func (n *Node) CheckIdentity(f *File, key ed25519.PrivateKey) error {
	i := slices.IndexFunc(f.Members, func(m Member) bool { return m.Name == n.Name })
	if i < 0 {
		const most = 10
		names, more := f.Fleet.Members, ""
		if len(names) > most {
			names, more = names[:most], fmt.Sprintf(" and %d more", len(names)-most)
		}
		return fmt.Errorf("fleetfile: %q is not a member of the fleet, whose members are %q%s", n.Name, names, more)
	}
	if len(key) != ed25519.PrivateKeySize {
		return fmt.Errorf("fleetfile: the key of %q has %d bytes, want %d", n.Name, len(key), ed25519.PrivateKeySize)
	}
	own := key.Public().(ed25519.PublicKey)
	if !slices.ContainsFunc(f.Members[i].Keys, func(k ed25519.PublicKey) bool { return k.Equal(own) }) {
		return fmt.Errorf("fleetfile: the key of %q is %s, but the fleet file has %s", n.Name,
			transport.FormatKey(own), strings.Join(formatKeys(f.Members[i].Keys), " or "))
	}
	if n.Transport != nil {
		return nil
	}
	for _, p := range f.Peers(n.Name) {
		const missing = "fleetfile: listen is missing, want host:port: "
		switch {
		case len(p.Addresses)+len(f.Members[i].Addresses) == 0: // allowed only with a broker
			return fmt.Errorf("fleetfile: %q and %q are neighbors, but neither has an address: want an address for "+
				"one of them, or a broker in transport", n.Name, p.Name)
		case n.Listen != "":
		case len(p.Addresses) == 0:
			return fmt.Errorf(missing+"%q has no address, so it dials %q", p.Name, n.Name)
		case p.Name < n.Name && len(f.Members[i].Addresses) > 0: // if both have addresses, the lower name dials
			return fmt.Errorf(missing+"%q dials %q, because %[2]q has an address in the fleet file; a member without "+
				"an address only dials out", p.Name, n.Name)
		}
	}
	return nil
}
