package fleetfile

import (
	"crypto/ed25519"
	"fmt"
	"slices"
	"strings"

	"github.com/spade-dfl/spade-edge/transport"
)

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
		var pins []string
		for _, k := range f.Members[i].Keys {
			pins = append(pins, transport.FormatKey(k))
		}
		return fmt.Errorf("fleetfile: the key of %q is %s, but the fleet file has %s", n.Name,
			transport.FormatKey(own), strings.Join(pins, " or "))
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
