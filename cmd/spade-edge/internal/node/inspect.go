package node

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/broker"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/graph"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/sdk/wire"
	"github.com/spade-dfl/spade-edge/transport"
)

// inspection is what was found, and its JSON.
type inspection struct {
	Path string `json:"path"`
	Kind string `json:"kind"` // what it was taken for
	Any  any    `json:"content"`

	text  strings.Builder // the same for people
	fault error           // why it is not sound
	fleet *fleetfile.File // has the keys for evidence; nil if it is not known
}

// Inspect is the command that says what is in a file or folder of a fleet.
func Inspect(_ context.Context, c *cli.Cmdline) error {
	dim := c.Int("dim", 0, "of a frame: how many numbers its vector has")
	fleet := c.String("fleet", "", "of evidence: the fleet file, by whose keys its signatures are checked")
	c.JSONFlag("")
	path, err := c.ParseFile()
	if err != nil {
		return err
	}
	if *dim < 0 || *dim > wire.MaxDim {
		return cli.AsUsageError(fmt.Errorf("-dim is %d, want 1..%d", *dim, wire.MaxDim))
	}
	r := &inspection{Path: path}
	if *fleet != "" {
		if r.fleet, err = fleetfile.Read(*fleet); err != nil {
			return cli.AsUsageError(err)
		}
	}
	if err := r.identify(path, *dim); err != nil {
		return err
	}
	err = c.Print(r, func(t cli.Table) { fmt.Fprintf(t, "%-14s %s\n%s", r.Kind, path, &r.text) })
	if err == nil && r.fault != nil {
		return cli.AsExit(r.fault, cli.ExitFailed)
	}
	return err
}

func (r *inspection) row(name, format string, args ...any) {
	cli.Table{Writer: &r.text}.Row(name, format, args...)
}

func (r *inspection) identify(path string, dim int) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.IsDir() {
		if node := filepath.Join(path, "node.json"); isFile(node) { // as init makes it
			r.Kind = "node file"
			return r.nodeFile(node)
		}
		return r.stateFolder(path)
	}
	const most = 64 << 20 // of a fleet or node file less is read, of a frame no more
	if !info.Mode().IsRegular() {
		return cli.AsUsageError(fmt.Errorf("%s is neither a file nor a folder", path))
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(f, 4096))
	switch {
	case err != nil:
		return err
	case bytes.HasPrefix(head, []byte("SPADEslt")):
		return r.slot(path)
	case bytes.HasPrefix(head, []byte("-----BEGIN PRIVATE KEY-----")):
		return r.key(path)
	case bytes.HasPrefix(bytes.TrimSpace(head), []byte("{")):
		return r.jsonFile(path, io.MultiReader(bytes.NewReader(head), f))
	}
	if found, err := r.npy(path, head, info.Size()); found {
		return err
	}
	if info.Size() <= most {
		if data, err := os.ReadFile(path); err == nil && r.frame(data, dim) {
			return nil
		}
	}
	hint := ""
	if len(head) > 0 && head[0]>>5 == 5 && dim == 0 { // a map in CBOR
		hint = "; if it is a frame with a vector, -dim says how long that is"
	}
	return cli.AsUsageError(fmt.Errorf("%s is none of: state folder, node's folder, slot, model file, .npy file, evidence, "+
		"ledger, neighbors' ledgers, certificate, fleet file, node file, key file, frame, hello%s", path, hint))
}

// jsonKinds tell the files in JSON from each other by fields of their first object.
var jsonKinds = []struct {
	kind, fields string
	show         func(r *inspection, path string) error
}{
	{"model file", "model model_sha256 fleet", (*inspection).modelFile},
	{"ledger", "ledger dataset created", (*inspection).ledger},
	{"ledgers of neighbors", "key ledger scope release", (*inspection).heads},
	{"evidence", "member round first second", (*inspection).evidenceFile},
	{"secrets of a run", "own offered sha256", func(r *inspection, _ string) error {
		r.row("secrets", "%s", secretText)
		return nil
	}},
	{"certificate", "unit adjacency", (*inspection).certificate},
	{"node file", "oracle", (*inspection).nodeFile},
	{"node file", "key state", (*inspection).nodeFile},
	{"fleet file", "members", (*inspection).fleetFile},
	{"fleet file", "graph method", (*inspection).fleetFile},
	{"mark", "id seq hash", func(_ *inspection, path string) error {
		return cli.AsUsageError(fmt.Errorf("%s is the mark of a ledger: inspect the ledger, %s", path,
			strings.TrimSuffix(path, ".mark")))
	}},
}

func (r *inspection) jsonFile(path string, f io.Reader) error {
	var fields map[string]json.RawMessage
	if err := json.NewDecoder(f).Decode(&fields); err != nil {
		return cli.AsUsageError(fmt.Errorf("%s looks like JSON and is not: %w", path, err))
	}
	for _, k := range jsonKinds {
		missing := func(name string) bool { return fields[name] == nil }
		if !slices.ContainsFunc(strings.Fields(k.fields), missing) {
			r.Kind = k.kind
			return k.show(r, path)
		}
	}
	return cli.AsUsageError(fmt.Errorf("%s is a JSON object, but neither ledger, model file, neighbors' ledgers, "+
		"evidence, certificate, fleet file nor node file", path))
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

func (r *inspection) key(path string) error {
	r.Kind = "key file"
	key, err := fleetfile.ReadKey(path)
	if err != nil {
		return err
	}
	public := transport.FormatKey(key.Public().(ed25519.PublicKey))
	r.Any = cli.Fields{{Key: "public", Value: public}}
	r.row("public", "%s", public)
	r.row("secret", "not shown; it must not leave this device")
	return nil
}

func (r *inspection) nodeFile(path string) error {
	n, err := fleetfile.ReadNode(path)
	if err != nil {
		return cli.AsUsageError(err)
	}
	var meeting, proxy string // addresses, which have no credentials in a node file
	if b := broker.Of(n); b != nil {
		meeting = b.URL
	}
	if n.Proxy != nil {
		proxy = n.Proxy.URL
	}
	list, err := state.ReadEvidence(state.EvidencePath(n.State))
	content := cli.Fields{{Key: "name", Value: n.Name}}
	r.row("name", "%s", n.Name)
	for _, f := range []struct{ name, value string }{
		{"fleet", n.Fleet}, {"key", n.Key}, {"listen", n.Listen}, {"state", n.State}, {"ledger", n.Ledger}, {"http", n.HTTP},
		{"oracle", n.Oracle.String()}, {"broker", meeting}, {"proxy", proxy},
	} {
		if f.value != "" {
			r.row(f.name, "%s", f.value)
			content = append(content, cli.Field{Key: f.name, Value: f.value})
		}
	}
	if err != nil {
		r.row("evidence", "%v", err)
		r.fault = err
	}
	if len(list) > 0 && r.fleet == nil {
		r.fleet, _ = fleetfile.Read(n.Fleet) // without it the signatures are not checked, which is said
	}
	all, own := r.evidence(list, n.Name)
	if own != nil {
		r.fault = own
	}
	if len(all) > 0 {
		content = append(content, cli.Field{Key: "evidence", Value: all})
	}
	r.Any = content
	return nil
}

// spent is what a run has cost after some rounds.
type spent struct {
	Rounds int `json:"rounds"`
	dpmech.Cost
}

func (r *inspection) fleetFile(path string) error {
	file, err := fleetfile.Read(path)
	if err != nil {
		return cli.AsUsageError(err)
	}
	f := file.Fleet
	g, err := f.Graph()
	if err != nil {
		return cli.AsUsageError(err)
	}
	a := g.Gain(f.Method.Gain, f.Method.Rho)
	rate := g.Contraction(a, f.Method.Rho)
	type member struct {
		Name      string   `json:"name"`
		Keys      []string `json:"keys"`
		Retired   []string `json:"retired,omitempty"`
		Addresses []string `json:"addresses"`
		Neighbors []string `json:"neighbors"`
	}
	hash := f.Hash()
	var members []member
	all := []spent{}
	r.row("run", "%q, %d parameters, %d rounds of %d local steps%s and %d of cool-down", f.Run, f.Dim, f.Method.Rounds,
		f.Method.Tau, cli.MixingText(f.Method.Mixing), f.Method.Cooldown)
	r.row("hash", "%x", hash)
	for i, m := range file.Members {
		one := member{Name: m.Name, Addresses: append([]string{}, m.Addresses...)}
		for _, k := range m.Keys {
			one.Keys = append(one.Keys, transport.FormatKey(k))
		}
		retired := ""
		for _, k := range m.Retired {
			one.Retired = append(one.Retired, transport.FormatKey(k))
			retired = ", retired " + strings.Join(one.Retired, " and ")
		}
		for _, j := range g.Neighbors(i) {
			one.Neighbors = append(one.Neighbors, f.Members[j])
		}
		members = append(members, one)
		r.row("member", "%q at %s, neighbors %q, key %s%s", m.Name, strings.Join(m.Addresses, " "), one.Neighbors,
			strings.Join(one.Keys, " or "), retired)
	}
	if g.N() > 1 {
		r.row("graph", "%d edges, Laplacian lambda_2 %.6g, lambda_N %.6g", len(f.Edges), g.Lambda2(), g.LambdaMax())
		r.row("stability", "%.4g of the limit 8/3: tau*beta*eta*mu is %.6g", f.Method.Gain, a)
		r.row("disagreement", "shrinks by %.6g a round in the slowest mode, tenfold in %d", rate, graph.Tenfold(rate))
	}
	if f.Privacy.NonPrivate {
		r.row("privacy", "NOT PRIVATE: what a member sends may reveal its data")
	} else {
		pr := f.Privacy
		r.row("privacy", "noise %.6g on updates clipped to %.6g", pr.Sigma, pr.Clip)
		r.row("against", "%s", pr.Shared().Adversary())
		if pr.PairSigma > 0 {
			r.row("", "noise of %.6g that each two neighbors share on top; all of it is as good as %.6g against these",
				pr.PairSigma, pr.EffectiveSigma)
		}
		for _, k := range []int{1, f.Method.Rounds / 4, f.Method.Rounds / 2, f.Method.Rounds} {
			if n := len(all); k < 1 || n > 0 && all[n-1].Rounds >= k {
				continue
			}
			s := spent{k, dpmech.CostOf(f.Total(k), pr.Delta)}
			all = append(all, s)
			r.row("", "after round %d %s; zero-out %s", k, cli.CostText(s.Cost), cli.EpsilonText(s.EpsilonZeroOut))
			if s.AgainstAll != nil {
				r.row("", "%s %s", cli.AgainstAll, cli.CostText(*s.AgainstAll))
			}
		}
	}
	m := f.Method
	r.Any = cli.Fields{
		{Key: "run", Value: f.Run}, {Key: "hash", Value: hex.EncodeToString(hash[:])}, {Key: "dim", Value: f.Dim}, {Key: "rounds", Value: m.Rounds}, {Key: "cooldown", Value: m.Cooldown},
		{Key: "members", Value: members}, {Key: "edges", Value: len(f.Edges)}, {Key: "lambda_2", Value: g.Lambda2()}, {Key: "lambda_n", Value: g.LambdaMax()},
		{Key: "gain", Value: m.Gain}, {Key: "round_gain", Value: a}, {Key: "spectral_radius", Value: rate}, {Key: "non_private", Value: f.Privacy.NonPrivate}, {Key: "spent", Value: all},
	}
	for _, s := range sdk.Settings() { // those that are off unless they are asked for
		name, method := strings.CutPrefix(s.Name, "method.")
		if !method || s.Default != "" || name == "cooldown" {
			continue
		}
		switch x := s.In(f).(type) {
		case *int:
			if *x > 0 {
				r.Any = append(r.Any.(cli.Fields), cli.Field{Key: name, Value: *x})
			}
		case *float64:
			if *x > 0 {
				r.Any = append(r.Any.(cli.Fields), cli.Field{Key: name, Value: *x})
			}
		}
	}
	if pr := f.Privacy; !pr.NonPrivate {
		r.Any = append(r.Any.(cli.Fields), cli.Field{Key: "adversary", Value: pr.Shared().Adversary()})
		if pr.PairSigma > 0 {
			r.Any = append(r.Any.(cli.Fields), cli.Field{Key: "shared", Value: pr.Shared()})
		}
	}
	return nil
}

// frame says whether the data are what crosses the wire, and what that says.
func (r *inspection) frame(data []byte, dim int) bool {
	if h, err := wire.DecodeHello(data); err == nil {
		r.Kind = "hello"
		r.Any = cli.Fields{
			{Key: "run", Value: h.Run}, {Key: "fleet_hash", Value: hex.EncodeToString(h.Fleet[:])}, {Key: "from", Value: h.From}, {Key: "to", Value: h.To},
			{Key: "codec", Value: h.Codec}, {Key: "bytes", Value: len(data)},
		}
		r.row("from", "%q to %q, run %q", h.From, h.To, h.Run)
		r.row("fleet", "hash %x", h.Fleet)
		r.row("size", "%d bytes, codec %d, %d sections", len(data), h.Codec, len(h.Sections))
		return true
	}
	codec, err := wire.NewCodec(max(1, dim))
	if err != nil {
		return false
	}
	var f admm.Message
	if codec.Decode(data, &f) != nil {
		return false
	}
	r.Kind = "frame"
	r.Any = cli.Fields{
		{Key: "frame", Value: f.Kind.String()}, {Key: "round", Value: f.Round}, {Key: "resent", Value: f.Resent}, {Key: "floats", Value: len(f.Vector)},
		{Key: "grid", Value: len(f.Grid)}, {Key: "held", Value: f.Held}, {Key: "generation", Value: f.Generation}, {Key: "incarnation", Value: f.Incarnation},
		{Key: "bytes", Value: len(data)},
	}
	r.row("frame", "%v of round %d, resent: %v, %d bytes", f.Kind, f.Round, f.Resent, len(data))
	switch {
	case len(f.Vector) > 0:
		r.row("vector", "%d numbers as float32, %.2f bits each", len(f.Vector), 8*float64(len(data))/float64(len(f.Vector)))
	case len(f.Grid) > 0:
		r.row("grid", "%d whole numbers, %.2f bits each", len(f.Grid), 8*float64(len(data))/float64(len(f.Grid)))
	case f.Kind == admm.Probe || f.Kind == admm.ProbeReply:
		r.row("held", "the sender holds release %d of the receiver's; generation %d, incarnation %012x",
			f.Held, f.Generation, f.Incarnation)
	case f.Kind == admm.StateRequest:
		r.row("part", "the sender has lost its state, and asks for part %d of it; incarnation %012x", f.Part, f.Incarnation)
	case f.Kind == admm.Conflict:
		r.row("evidence", "two releases of round %d that the receiver's key has signed, of %d bytes each",
			f.Round, len(f.Signed.Proof))
	}
	if f.Kind == admm.StateResponse {
		r.row("part", "part %d of the receiver's lost state; the sender has held release %d of the receiver's; "+
			"generation %d, incarnation %012x",
			f.Part, f.Held, f.Generation, f.Incarnation)
	}
	return true
}
