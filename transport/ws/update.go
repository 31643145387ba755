package ws

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"slices"
)

// What ends a connection to a peer that has other keys or addresses now.
var (
	errUnpinned = errors.New("the key of this connection is no longer pinned")
	errMoved    = errors.New("the peer is elsewhere now")
)

// Update replaces the keys and addresses of all peers, in any order, as they were given to [New]. Who the peers are cannot change:
// each must be there once, and no other. All faults are reported at once, and after an error nothing has changed.
//
// From then on no frame is read from, or written to, a connection whose key is not among those given: one that is up is
// closed at once, one that is being made comes to nothing. Frames that had arrived whole are still handed out by Recv. A
// connection that this end has dialed is closed as well if its address is not among those given: a peer that was moved
// may leave nobody behind who could say so. All others stay up; where there is none, the new addresses are tried at once. The
// slices are copied.
func (t *Transport) Update(peers []Peer) error {
	var errs []error
	fault := func(format string, args ...any) { errs = append(errs, fmt.Errorf("ws: update: "+format, args...)) }
	checkPeers(t.name, t.public, peers, fault)
	given := make(map[string]bool)
	for _, c := range peers {
		given[c.Name] = true
		if t.peers[c.Name] == nil && c.Name != "" && c.Name != t.name {
			fault("%q is no peer of %q: who the peers are cannot change", c.Name, t.name)
		}
	}
	for _, p := range t.sorted {
		if !given[p.name] {
			fault("peer %q is missing: who the peers are cannot change", p.name)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	t.updating.Lock()
	defer t.updating.Unlock()
	byKey := make(map[string]*peer)
	for _, c := range peers {
		p, keys := t.peers[c.Name], cloneKeys(c.Keys)
		addresses, _ := parseAddresses(c.Addresses) // checkPeers has seen them
		for _, k := range keys {
			byKey[string(k)] = p
		}
		p.mu.Lock()
		same := slices.EqualFunc(p.keys, keys, func(a, b ed25519.PublicKey) bool { return a.Equal(b) }) && slices.Equal(p.addresses, addresses)
		p.keys, p.addresses = keys, addresses
		s := p.session
		p.mu.Unlock()
		if s != nil {
			var reason error
			switch {
			case !hasKey(keys, s.c.key):
				reason = errUnpinned
			case s.c.where != "" && !slices.ContainsFunc(addresses, func(a address) bool { return a.url == s.c.where }):
				reason = errMoved
			}
			if reason != nil {
				s.blame(reason)
				s.c.tcp.Close()
			}
		}
		if !same {
			p.dialSoon()
		}
	}
	t.byKey.Store(&byKey) // a caller who was found in the map before is judged once more by begin
	return nil
}

// pins returns the keys that the peer may present. The slice is not changed any more.
func (p *peer) pins() []ed25519.PublicKey {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.keys
}

// pinned says whether the peer may present a key.
func (p *peer) pinned(key ed25519.PublicKey) bool { return hasKey(p.pins(), key) }

func hasKey(keys []ed25519.PublicKey, key ed25519.PublicKey) bool {
	return slices.ContainsFunc(keys, func(k ed25519.PublicKey) bool { return k.Equal(key) })
}

func cloneKeys(keys []ed25519.PublicKey) []ed25519.PublicKey {
	clone := make([]ed25519.PublicKey, len(keys))
	for i, k := range keys {
		clone[i] = slices.Clone(k)
	}
	return clone
}
