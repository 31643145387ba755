package fleetfile

import (
	"crypto/ed25519"
	"fmt"
	"slices"

	"github.com/spade-dfl/spade-edge/transport"
)

// members reads the members, and reports whether their names can be used.
func (r *fleetReader) members(v value) bool {
	all, ok := v.elements("an array of members")
	owner := map[string]string{} // of a key: the place where it was seen first
	for e := range all {
		o, isObject := e.object(`{"name": "...", "keys": ["ed25519:..."], "addresses": ["wss://..."]}`)
		if !isObject {
			ok = false
			continue
		}
		name := o.need("name")
		m := Member{Name: name.name("")}
		if first, taken := r.number[m.Name]; taken && m.Name != "" {
			name.wrong(fmt.Sprintf("another name than members[%d] has", first))
			ok = false
		}
		ok = ok && m.Name != ""
		r.number[m.Name] = e.index
		m.Keys = r.keys(o.need("keys"), owner, 1, 2, "1 or 2 keys: the current one and, while it is being replaced, the next")
		m.Retired = r.keys(o.may("retired"), owner, 0, 8,
			"at most 8 keys: those that may not connect any more, and whose past signatures count")
		m.Addresses = o.may("addresses").texts("of the form wss://host:port/path", anything[string])
		for i, a := range m.Addresses {
			if _, _, err := transport.ParseAddress(a); err != nil {
				r.fault("%s.addresses[%d]: %w", e.at(), i, err)
			}
		}
		o.close()
		r.file.Members = append(r.file.Members, m)
		r.file.Fleet.Members = append(r.file.Fleet.Members, m.Name)
	}
	if ok && len(r.file.Members) == 0 {
		v.wrong("at least one member")
		ok = false
	}
	return ok
}

// keys reads the keys of a member, least to most of them, as want says.
func (r *fleetReader) keys(v value, owner map[string]string, least, most int, want string) []ed25519.PublicKey {
	var keys []ed25519.PublicKey
	all, ok := v.elements("an array of " + want)
	count := 0
	for e := range all {
		count++
		text, ok := e.text("a key, ed25519:...", anything[string])
		if !ok {
			continue
		}
		key, err := transport.ParseKey(text)
		if err != nil {
			r.fault("%s: %w", e.at(), err)
			continue
		}
		if first, taken := owner[string(key)]; taken {
			r.fault("%s is %s, which is %s already; want every key once", e.at(), text, first)
		}
		owner[string(key)] = e.at()
		keys = append(keys, key)
	}
	if ok && (count < least || count > most) {
		r.fault("%s has %d keys, want %s", v.at(), count, want)
	}
	return keys
}

// edges reads the graph, and reports whether all edges can be used. Names are looked up only if all members are known.
func (r *fleetReader) edges(v value, known bool) bool {
	o, ok := v.object(`{"edges": [["a", "b"], ...]}`)
	if !ok {
		return false
	}
	defer o.close()
	const pair = "a pair of two members' names"
	all, ok := o.need("edges").elements("an array of pairs of members' names")
	seen := map[[2]string]int{}
	for e := range all {
		var ends []string
		sides, isPair := e.elements(pair)
		count := 0
		for side := range sides {
			count++
			name, isName := side.text("the name of a member", func(s string) bool {
				_, member := r.number[s]
				return member || !known
			})
			if isName && count <= 2 {
				ends = append(ends, name)
			}
		}
		switch {
		case isPair && count != 2:
			r.fault("%s has %d elements, want %s", e.at(), count, pair)
			ok = false
			continue
		case len(ends) != 2:
			ok = false
			continue
		case ends[0] == ends[1]:
			r.fault("%s joins %q with itself, want two different members", e.at(), ends[0])
			ok = false
			continue
		}
		edge := [2]string{ends[0], ends[1]}
		sorted := [2]string{min(ends[0], ends[1]), max(ends[0], ends[1])}
		if first, twice := seen[sorted]; twice {
			r.fault("%s joins %q and %q, as graph.edges[%d] does; want every edge once", e.at(), edge[0], edge[1], first)
			ok = false
			continue
		}
		seen[sorted] = e.index
		r.file.Fleet.Edges = append(r.file.Fleet.Edges, edge)
	}
	return ok
}

// addresses checks that every member that is dialed has an address. In a fleet that meets at a broker, no member is
// dialed and none needs an address.
func (r *fleetReader) addresses(dialed bool) {
	if some := func(m Member) bool { return len(m.Addresses) > 0 }; !dialed && !slices.ContainsFunc(r.file.Members, some) {
		return
	}
	told := make([]bool, len(r.file.Members))
	for _, e := range r.file.Fleet.Edges {
		dialer, dialed := min(e[0], e[1]), max(e[0], e[1])
		i := r.number[dialed]
		if len(r.file.Members[i].Addresses) == 0 && !told[i] {
			told[i] = true
			r.fault("members[%d].addresses is empty, want an address: %q dials %q "+
				"(of two neighbors the one whose name sorts lower dials)", i, dialer, dialed)
		}
	}
}
