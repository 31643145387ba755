package fleetfile

import (
	"crypto/ed25519"
	"fmt"
	"slices"

	"github.com/spade-dfl/spade-edge/sdk/wire"
	"github.com/spade-dfl/spade-edge/transport/ws"
)

// Peers returns the neighbors of a member, in the order of the file, as a transport wants to know them; none if there is no
// such member. Slices are shared with f.
func (f *File) Peers(self string) []ws.Peer {
	neighbors := map[string]bool{}
	for _, e := range f.Fleet.Edges {
		if e[0] == self {
			neighbors[e[1]] = true
		} else if e[1] == self {
			neighbors[e[0]] = true
		}
	}
	var peers []ws.Peer
	for _, m := range f.Members {
		if neighbors[m.Name] {
			peers = append(peers, ws.Peer{Name: m.Name, Keys: m.Keys, Addresses: m.Addresses})
		}
	}
	return peers
}

// SigningKeys returns the keys whose signatures on a member's releases count: those that may connect, and then the retired ones; nil if
// there is no such member.
func (f *File) SigningKeys(member string) []ed25519.PublicKey {
	for _, m := range f.Members {
		if m.Name == member {
			return append(append([]ed25519.PublicKey{}, m.Keys...), m.Retired...)
		}
	}
	return nil
}

// Transport returns the configuration of a member's transport, ready for [ws.New]. key is the member's own and must
// belong to one of its public keys in f; listen is where it takes calls, "host:port", and may be empty if all its neighbors'
// names sort after its own.
func (f *File) Transport(self string, key ed25519.PrivateKey, listen string) (ws.Config, error) {
	cfg, err := f.transport(self, key)
	if err != nil {
		return ws.Config{}, err
	}
	for _, p := range cfg.Peers {
		if p.Name < self && listen == "" {
			return ws.Config{}, fmt.Errorf("fleetfile: listen is missing, want host:port: %q dials %q (the lower name dials)", p.Name, self)
		}
	}
	cfg.Listen = listen
	return cfg, nil
}

// transport is Transport but for where calls are taken.
func (f *File) transport(self string, key ed25519.PrivateKey) (ws.Config, error) {
	i := slices.IndexFunc(f.Members, func(m Member) bool { return m.Name == self })
	if i < 0 {
		return ws.Config{}, fmt.Errorf("fleetfile: %q is not a member of the fleet, which has %s", self, f.names())
	}
	if len(key) != ed25519.PrivateKeySize {
		return ws.Config{}, fmt.Errorf("fleetfile: the key of %q has %d bytes, want %d", self, len(key), ed25519.PrivateKeySize)
	}
	own := key.Public().(ed25519.PublicKey)
	if !slices.ContainsFunc(f.Members[i].Keys, func(k ed25519.PublicKey) bool { return k.Equal(own) }) {
		var pins string
		for j, k := range f.Members[i].Keys {
			if j > 0 {
				pins += " or "
			}
			pins += ws.FormatKey(k)
		}
		return ws.Config{}, fmt.Errorf("fleetfile: the key of %q is %s, but the fleet file has %s for it", self, ws.FormatKey(own), pins)
	}
	return ws.Config{
		Name: self, Key: key, Peers: f.Peers(self), MaxFrame: wire.MaxFrame(f.Fleet.Dim),
		Hello: f.Fleet.Hello(self), CheckHello: f.Fleet.CheckHello(self),
	}, nil
}

// names lists the first members for a message.
func (f *File) names() string {
	const most = 10
	names := f.Fleet.Members
	if len(names) <= most {
		return fmt.Sprintf("%q", names)
	}
	return fmt.Sprintf("%q and %d more", names[:most], len(names)-most)
}
