package fleetfile

import (
	"crypto/ed25519"
	"fmt"
	"slices"

	"github.com/spade-dfl/spade-edge/transport"
)

// members reports whether the names of all members can be used.
func (c *fleetCodec) members(v *value) bool {
	_, whole := array(v, "an array of members", &c.file.Members, c.member)
	if c.writing {
		return true
	}
	if whole && len(c.file.Members) == 0 {
		v.wrong("at least one member")
	}
	return whole && len(c.file.Members) > 0
}

func (c *fleetCodec) member(e *value, m *Member) (ok bool) {
	e.object(`{"name": "...", "keys": ["ed25519:..."], "addresses": ["wss://..."]}`, func(o *object) {
		name := o.need("name")
		ok = name.name(&m.Name)
		if first, taken := c.number[m.Name]; ok && taken && !c.writing {
			name.wrong(fmt.Sprintf("another name than members[%d] has", first))
			ok = false
		}
		c.number[m.Name] = e.index
		if !c.writing {
			c.file.Fleet.Members = append(c.file.Fleet.Members, m.Name)
		}
		c.keys(o.need("keys"), &m.Keys, 1, 2, "1 or 2 keys: the current one and, while it is being replaced, the next")
		c.keys(o.may("retired"), &m.Retired, 0, 8,
			"at most 8 keys: those that may not connect any more, and whose past signatures count")
		o.may("addresses").texts(&m.Addresses, "of the form wss://host:port/path", anything[string])
		for i, a := range m.Addresses {
			if _, _, err := transport.ParseAddress(a); err != nil {
				c.fault("%s.addresses[%d]: %w", e.at(), i, err)
			}
		}
	})
	return ok
}

// keys are the keys of a member, least to most of them, as want says.
func (c *fleetCodec) keys(v *value, to *[]ed25519.PublicKey, least, most int, want string) {
	v.inline = true
	count, _ := array(v, "an array of "+want, to, func(e *value, key *ed25519.PublicKey) bool {
		if c.writing {
			return put(e, transport.FormatKey(*key))
		}
		var text string
		if !e.text(&text, "a key, ed25519:...", anything[string]) {
			return false
		}
		var err error
		if *key, err = transport.ParseKey(text); err != nil {
			c.fault("%s: %w", e.at(), err)
			return false
		}
		if first, taken := c.owner[string(*key)]; taken {
			c.fault("%s is %s, which is %s already; want every key once", e.at(), text, first)
		}
		c.owner[string(*key)] = e.at()
		return true
	})
	if v.kind() == '[' && (count < least || count > most) {
		c.fault("%s has %d keys, want %s", v.at(), count, want)
	}
}

// edges reports whether all edges can be used. Names are looked up only if all members are known.
func (c *fleetCodec) edges(v *value, known bool) bool {
	const pair = "a pair of two members' names"
	isName := func(s string) bool {
		_, member := c.number[s]
		return member || !known
	}
	seen := map[[2]string]int{}
	_, whole := array(v, "an array of pairs of members' names", &c.file.Fleet.Edges, func(e *value, edge *[2]string) bool {
		ends := edge[:]
		count, named := array(e, pair, &ends, func(side *value, name *string) bool {
			return side.text(name, "the name of a member", isName)
		})
		switch {
		case c.writing:
			return true
		case e.kind() == '[' && count != 2:
			c.fault("%s has %d elements, want %s", e.at(), count, pair)
			return false
		case !named:
			return false
		case ends[0] == ends[1]:
			c.fault("%s joins %q with itself, want two different members", e.at(), ends[0])
			return false
		}
		*edge = [2]string(ends)
		first, twice := seen[*edge]
		if twice {
			c.fault("%s joins %q and %q, as graph.edges[%d] does; want every edge once", e.at(), ends[0], ends[1], first)
		} else {
			seen[*edge], seen[[2]string{ends[1], ends[0]}] = e.index, e.index
		}
		return !twice
	})
	return whole
}

// addresses checks that of every two neighbors one has an address, where the other can dial it. In a fleet that meets at
// a broker, nobody dials and nobody needs an address.
func (c *fleetCodec) addresses(dialed bool) {
	if some := func(m Member) bool { return len(m.Addresses) > 0 }; !dialed && !slices.ContainsFunc(c.file.Members, some) {
		return
	}
	for _, e := range c.file.Fleet.Edges {
		i, j := c.number[min(e[0], e[1])], c.number[max(e[0], e[1])]
		if len(c.file.Members[i].Addresses)+len(c.file.Members[j].Addresses) == 0 {
			c.fault("members[%d].addresses is empty, and so is members[%d].addresses, want an address of one of them: "+
				"%q and %q are neighbors, and neither can be dialed (a fleet without any address meets at a broker)",
				j, i, c.file.Members[i].Name, c.file.Members[j].Name)
		}
	}
}
