package fleet

import (
	"cmp"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/setup"
	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/graph"
	"github.com/spade-dfl/spade-edge/sdk/pair"
	"github.com/spade-dfl/spade-edge/sdk/plan"
	"github.com/spade-dfl/spade-edge/sdk/signed"
)

// newcomer returns the member that a file describes, which has one line of keygen.
func newcomer(path string) (m fleetfile.Member, err error) {
	if path == "" {
		return m, cli.Usage("-line is missing: give the file with the line that keygen printed on the member's device")
	}
	all, err := readMembers(path)
	if err == nil && len(all) != 1 {
		err = fmt.Errorf("%s has %d members, want one", path, len(all))
	}
	if err != nil {
		return m, cli.Usage("-line: %w", err)
	}
	return all[0], nil
}

// phone notes how to make sure that the keys in a line are those of the member's device.
func (e *fleetEdit) phone(m fleetfile.Member) {
	for _, key := range m.Keys {
		e.note("phone %q: keygen printed the fingerprint %s on its device", m.Name, signed.Fingerprint(key))
	}
}

// add adds a member or, if the fleet has a member of this name, replaces its keys and addresses.
func add(e *fleetEdit) func() error {
	e.runFlag()
	line := e.String("line", "", "the `file` with the line that keygen printed on the device")
	edges := e.String("edges", "", "the neighbors, separated by commas, and further edges `a:b`")
	like := e.String("as", "", "copy the data or the program from the node file of this `member` (default a gap to fill in)")
	records := e.Int("records", 0, "in a fleet that protects each record: the member's public `number` of them")
	return func() error {
		m, err := newcomer(*line)
		if err != nil {
			return err
		}
		e.phone(m)
		if i := slices.Index(e.file.Fleet.Members, m.Name); i >= 0 {
			return e.replace(i, m)
		}
		return e.join(m, *edges, *like, *records)
	}
}

// join adds a new member with its edges and, if each record is protected, its number of records. like names a member from
// whose node file the data or the program is copied.
func (e *fleetEdit) join(m fleetfile.Member, edges, like string, records int) error {
	f := e.file.Fleet
	err := checkName(m.Name)
	var wrong cli.Faults
	wrong.When(err != nil, "%w", err)
	each := f.Privacy.Unit == dpmech.Record
	wrong.When(each && records < 1, "-records is %d, want at least 1: the fleet protects each record, so the number of records of %q must "+
		"be public and fixed", records, m.Name)
	wrong.When(!each && e.Given["records"], noRecords, records)
	wrong.When(edges == "", "-edges is missing: give the neighbors of %q, or edges such as a:b", m.Name)
	wrong.When(like != "" && e.node(like) == nil, "-as %q: the fleet file's folder has no node file for that member", like)
	if err := wrong.Usage(); err != nil {
		return err
	}
	if err := e.openNode(m.Name); err != nil { // a member that returns has a node file
		return cli.AsUsageError(err)
	}
	f.Members = append(f.Members, m.Name)
	e.file.Members = append(e.file.Members, m)
	if each {
		f.Records = append(f.Records, records)
		e.weigh()
	}
	if err := e.connect(edges, m.Name); err != nil {
		return err
	}
	if err := e.settle(); err != nil {
		return err
	}
	if e.node(m.Name) == nil {
		if err := e.makeNode(m, like); err != nil {
			return err
		}
	}
	return e.reshare()
}

// connect adds edges, separated by commas, to the graph. "a:b" is an edge between the members a and b, and a single name is
// an edge between the member with this name and the given member.
func (e *fleetEdit) connect(edges, member string) error {
	f := e.file.Fleet
	var wrong cli.Faults
	for _, text := range setup.List(edges) {
		pair, ok := e.pair(text, member)
		switch {
		case !ok:
			wrong.Add("-edges: %q, want two members as a:b or, with add, the name of a neighbor", text)
		case slices.Contains(f.Edges, pair) || slices.Contains(f.Edges, [2]string{pair[1], pair[0]}):
			wrong.Add("-edges: %q and %q are neighbors already", pair[0], pair[1])
		default:
			f.Edges = append(f.Edges, pair)
		}
	}
	return wrong.Usage()
}

// pair parses "a:b" as an edge, or the name of a neighbor as an edge to the given member. Names may contain colons.
func (e *fleetEdit) pair(text, member string) (pair [2]string, ok bool) {
	members := e.file.Fleet.Members
	if member != "" && text != member && slices.Contains(members, text) {
		return [2]string{text, member}, true
	}
	for i, c := range text {
		if c != ':' {
			continue
		}
		if a, b := text[:i], text[i+1:]; a != b && slices.Contains(members, a) && slices.Contains(members, b) {
			return [2]string{a, b}, true
		}
	}
	return pair, false
}

// makeNode creates the node file of a new member, with the settings of an existing node file. If as is not empty, the new
// file has the data or the program of the member as.
func (e *fleetEdit) makeNode(m fleetfile.Member, as string) error {
	n := &nodeText{path: filepath.Join(e.dir, m.Name, "node.json")}
	form := nodeForm{Fleet: "fleet.json", Oracle: map[string]any{"stream": []string{setup.Gap}}}
	if len(e.nodes) > 0 {
		var like struct {
			Fleet     string
			Transport any
			Oracle    json.RawMessage
		}
		if err := json.Unmarshal(cmp.Or(e.node(as), e.nodes[0]).text, &like); err != nil {
			return err
		}
		form.Fleet, form.Transport = like.Fleet, like.Transport
		if as != "" {
			form.Oracle = like.Oracle
		}
	}
	var err error
	if n.text, err = form.text(m, !e.file.Fleet.Privacy.NonPrivate); err == nil {
		n.node, err = fleetfile.ParseNode(n.text, filepath.Dir(n.path))
	}
	if err != nil {
		return cli.AsUsageError(err)
	}
	e.nodes = append(e.nodes, n)
	e.note("put the new member's key (node.key) and, in a private fleet, its ledger into %s", filepath.Dir(n.path))
	return nil
}

// reshare adapts the number of noise partners and the effective sigma of pairwise noise to the changed graph.
func (e *fleetEdit) reshare() error {
	p := &e.file.Fleet.Privacy
	if p.PairSigma == 0 {
		return nil
	}
	g, err := graphOf(*e.file.Fleet)
	if err != nil {
		return err
	}
	if n := g.N(); p.Partners > 0 {
		if p.Partners == len(e.old.Fleet.Members)-1 || p.Partners >= n { // all other members, or too many
			p.Partners = n - 1
		}
		p.Partners -= n * p.Partners % 2
		if p.Partners < 2 {
			p.Partners = 0
		}
	}
	noise, err := g.Partners(p.Partners, e.file.Fleet.Method.Seed)
	if err == nil {
		p.EffectiveSigma, err = plan.Effective(*p, noise)
	}
	return setup.AsUsage(err)
}

// graphOf returns the graph of a fleet. It ignores the fields for privacy, records and one-time keys, which need not be valid
// yet.
func graphOf(f sdk.Fleet) (*graph.Graph, error) {
	f.Privacy, f.Wire, f.Records, f.PairKeys = sdk.Privacy{NonPrivate: true}, sdk.Wire{}, nil, nil
	p, err := f.Plan()
	if err != nil {
		return nil, cli.AsUsageError(err)
	}
	return p.Graph(), nil
}

func remove(e *fleetEdit) func() error {
	e.runFlag()
	member := e.String("name", "", "the member")
	edges := e.String("edges", "", "further edges `a:b`")
	return func() error {
		name, f := *member, e.file.Fleet
		i := slices.Index(f.Members, name)
		if i < 0 {
			return cli.Usage("-name is %q, want one of the members %q", name, f.Members)
		}
		if len(f.Members) == 1 {
			return cli.Usage("%q is the only member and cannot be removed", name)
		}
		f.Members = slices.Delete(f.Members, i, i+1)
		e.file.Members = slices.Delete(e.file.Members, i, i+1)
		if f.Records != nil {
			f.Records = slices.Delete(f.Records, i, i+1)
			e.weigh()
		}
		f.Edges = slices.DeleteFunc(f.Edges, func(p [2]string) bool { return slices.Contains(p[:], name) })
		if err := e.connect(*edges, ""); err != nil {
			return err
		}
		if _, err := graphOf(*f); err != nil {
			return fmt.Errorf("without %q, the graph is invalid: %w; add edges with -edges a:b", name, err)
		}
		if err := e.settle(); err != nil {
			return err
		}
		e.nodes = slices.DeleteFunc(e.nodes, func(n *nodeText) bool { return n.node.Name == name })
		e.note("the files of %q stay, except the private half of its one-time key of this run: keep its ledger as long as anyone uses its data", name)
		return e.reshare()
	}
}

// replace gives the member at index i the keys, the unused one-time keys and the addresses of its new line. A line without
// addresses keeps the old ones. Old keys are retired: they connect no more, and their signatures still count.
func (e *fleetEdit) replace(i int, fresh fleetfile.Member) error {
	var wrong cli.Faults
	for _, name := range []string{"edges", "run", "end", "as", "records"} {
		wrong.When(e.Given[name], "%q is already a member, and -%s is for new members: leave it out to replace the key or address of %q",
			fresh.Name, name, fresh.Name)
	}
	m := &e.file.Members[i]
	gone := slices.DeleteFunc(slices.Clone(m.Keys), func(k ed25519.PublicKey) bool { return hasKey(fresh.Keys, k) })
	wrong.When(slices.ContainsFunc(fresh.Keys, func(k ed25519.PublicKey) bool { return hasKey(m.Retired, k) }),
		"the key in the line is a retired key of %q: make a new one with keygen", fresh.Name)
	wrong.When(len(m.Retired)+len(gone) > fleetfile.MaxRetired, "%q already has %d retired keys, want at most %d with this change: remove the oldest from %s; "+
		"nodes then refuse its signatures", fresh.Name, len(m.Retired), fleetfile.MaxRetired, e.path)
	if err := wrong.Usage(); err != nil {
		return err
	}
	m.Keys, m.Retired = fresh.Keys, slices.Concat(m.Retired, gone)
	if f := e.file.Fleet; f.Privacy.PairSigma > 0 {
		m.PairKeys = slices.DeleteFunc(fresh.PairKeys, func(k pair.Public) bool { return slices.Contains(f.PairKeys, k) })
	}
	if old := m.Addresses; len(fresh.Addresses) > 0 {
		m.Addresses = fresh.Addresses
		if n := e.node(m.Name); n != nil {
			if err := e.relisten(n, old, m.Addresses); err != nil {
				return err
			}
		}
	}
	e.reload(m.Name)
	if len(gone) > 0 {
		e.note("the old key is refused now: %q must use the new one", m.Name)
	}
	return nil
}

func hasKey(keys []ed25519.PublicKey, key ed25519.PublicKey) bool {
	return slices.ContainsFunc(keys, func(k ed25519.PublicKey) bool { return k.Equal(key) })
}

// relisten changes the listen address of a node to match its new address, if it matched the old address.
func (e *fleetEdit) relisten(n *nodeText, old, addresses []string) error {
	if len(addresses) == 0 || n.node.Transport != nil {
		return nil
	}
	listen, was := listenAt(addresses[0]), n.node.Listen
	if was == "" || len(old) > 0 && was == listenAt(old[0]) {
		if was != listen {
			e.note("%q listens at %s after its next start", n.node.Name, listen)
		}
		return n.set("listen", listen)
	}
	if was != listen {
		e.note("%q listens at %s, as its node file says: make sure that %s leads there", n.node.Name, was, addresses[0])
	}
	return nil
}
