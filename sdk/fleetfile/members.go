package fleetfile

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"slices"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/transport"
)

// memberForm is the JSON form of a [Member] in a fleet file.
type memberForm struct {
	Name      string   `json:"name"`
	Keys      []string `json:"keys"`
	Retired   []string `json:"retired,omitempty"`
	Addresses []string `json:"addresses,omitempty"`
}

// ParseMember reads a member in the form of a fleet file, as [Member.MarshalJSON] writes it.
func ParseMember(text []byte) (Member, error) {
	var form memberForm
	if err := dpmech.ReadJSON(text, &form); err != nil {
		return Member{}, err
	}
	return form.member("member", map[string]string{})
}

// MarshalJSON returns the member in the form of a fleet file.
func (m Member) MarshalJSON() ([]byte, error) {
	form := memberForm{Name: m.Name, Keys: []string{}, Addresses: m.Addresses}
	for _, k := range m.Keys {
		form.Keys = append(form.Keys, transport.FormatKey(k))
	}
	for _, k := range m.Retired {
		form.Retired = append(form.Retired, transport.FormatKey(k))
	}
	return Encode(form) // Encode does not escape <
}

// member validates the member at place, a location in the file. owner maps each key seen so far to its location; member
// adds the keys of this member to the map.
func (m memberForm) member(place string, owner map[string]string) (Member, error) {
	var errs faults
	errs.when(len(m.Keys) < 1 || len(m.Keys) > 2,
		"%s.keys has %d keys, want 1 or 2: the current one and, while it is being replaced, the next", place, len(m.Keys))
	errs.when(len(m.Retired) > 8, "%s.retired has %d keys, want at most 8: those that may no longer connect, but whose "+
		"past signatures count", place, len(m.Retired))
	keys := func(place string, texts []string) (keys []ed25519.PublicKey) {
		for i, text := range texts {
			place := fmt.Sprintf("%s[%d]", place, i)
			key, err := transport.ParseKey(text)
			errs.at(place, err)
			first, taken := owner[string(key)]
			errs.when(err == nil && taken, "%s is %s, which is %s already; want every key once", place, text, first)
			owner[string(key)] = place
			keys = append(keys, key)
		}
		return keys
	}
	out := Member{Name: m.Name, Keys: keys(place+".keys", m.Keys), Retired: keys(place+".retired", m.Retired)}
	for i, a := range m.Addresses {
		_, _, err := transport.ParseAddress(a)
		errs.at(fmt.Sprintf("%s.addresses[%d]", place, i), err)
		out.Addresses = append(out.Addresses, a)
	}
	return out, errors.Join(errs...)
}

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
				"%q and %q are neighbors (only a fleet that connects through a broker has no addresses)",
			j, i, f.Members[i].Name, f.Members[j].Name)
	}
	return errs
}
