package node

import (
	"bufio"
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
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/privacy"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/broker"
	"github.com/spade-dfl/spade-edge/sdk/builtin"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/transport"
)

// inspection is what was found, and its JSON.
type inspection struct {
	Path string `json:"path"`
	Kind string `json:"kind"` // what it was taken for

	Lines []inspected `json:"lines,omitempty"`   // what it says, line by line
	Any   any         `json:"content,omitempty"` // all that is in it: of a ledger, a certificate and evidence

	text  strings.Builder // stands before the lines, for people
	fault error           // why it is not sound
	fleet *fleetfile.File // has the keys for evidence; nil if it is not known
}

type inspected struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// Inspect is the command that says what is in a file or folder of a fleet.
func Inspect(_ context.Context, c *cli.Cmdline) error {
	fleet := c.String("fleet", "", "of evidence: the fleet file, by whose keys its signatures are checked")
	c.JSONFlag("")
	path, err := c.ParseFile()
	if err != nil {
		return err
	}
	r := &inspection{Path: path}
	if *fleet != "" {
		if r.fleet, err = fleetfile.Read(*fleet); err != nil {
			return cli.AsUsageError(err)
		}
	}
	if err := r.identify(path); err != nil {
		return err
	}
	err = c.Print(r, func(t cli.Table) {
		fmt.Fprintf(t, "%-14s %s\n%s", r.Kind, path, &r.text)
		for _, line := range r.Lines {
			t.Row(line.Name, "%s", line.Text)
		}
	})
	if err == nil && r.fault != nil {
		return cli.AsExit(r.fault, cli.ExitFailed)
	}
	return err
}

// row adds a line.
func (r *inspection) row(name, format string, args ...any) {
	r.Lines = append(r.Lines, inspected{name, fmt.Sprintf(format, args...)})
}

func (r *inspection) identify(path string) error {
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
	if !info.Mode().IsRegular() {
		return cli.AsUsageError(fmt.Errorf("%s is neither a file nor a folder", path))
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	in := bufio.NewReader(f)
	switch head, _ := in.Peek(1024); {
	case bytes.HasPrefix(head, []byte("-----BEGIN PRIVATE KEY-----")):
		return r.key(path)
	case bytes.HasPrefix(bytes.TrimSpace(head), []byte("{")):
		return r.jsonFile(path, in)
	}
	return cli.AsUsageError(fmt.Errorf("%s is none of: state folder, node's folder, model file, evidence, ledger, "+
		"certificate, fleet file, node file, key file", path))
}

// jsonKinds tell the files in JSON from each other by fields of their first object.
var jsonKinds = []struct {
	kind, fields string
	show         func(r *inspection, path string) error
}{
	{"model file", "model model_sha256 fleet", (*inspection).modelFile},
	{"ledger", "ledger dataset created", (*inspection).ledger},
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
	return cli.AsUsageError(fmt.Errorf("%s is a JSON object, but neither ledger, model file, "+
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
	r.row("public", "%s", transport.FormatKey(key.Public().(ed25519.PublicKey)))
	r.row("secret", "not shown; it must not leave this device")
	return nil
}

func (r *inspection) nodeFile(path string) error {
	n, err := fleetfile.ReadNode(path)
	if err != nil {
		return cli.AsUsageError(err)
	}
	var meeting string // an address, which has no credentials in a node file
	if b := broker.Of(n); b != nil {
		meeting = b.URL
	}
	for _, f := range []struct{ name, value string }{
		{"name", n.Name}, {"fleet", n.Fleet}, {"key", n.Key}, {"listen", n.Listen}, {"state", n.State}, {"ledger", n.Ledger},
		{"http", n.HTTP}, {"oracle", n.Oracle.String()}, {"broker", meeting}, {"proxy", n.Proxy},
	} {
		if f.value != "" {
			r.row(f.name, "%s", f.value)
		}
	}
	list, err := state.ReadEvidence(state.EvidencePath(n.State))
	if err != nil {
		r.row("evidence", "%v", err)
		r.fault = err
	}
	if len(list) > 0 && r.fleet == nil {
		r.fleet, _ = fleetfile.Read(n.Fleet) // without it the signatures are not checked, which is said
	}
	if _, own := r.evidence(list, n.Name); own != nil {
		r.fault = own
	}
	return nil
}

func (r *inspection) ledger(path string) error {
	l, err := state.ReadLedger(path)
	if err != nil {
		return err
	}
	life := l.Lifetime(1e-5)
	if life.Limit != nil {
		life = l.Lifetime(life.Limit.Delta)
	}
	r.Any = life
	privacy.Ledger(cli.Table{Writer: &r.text}, path, life, privacy.LeftOf(life, "", nil))
	return nil
}

func (r *inspection) certificate(path string) error {
	_, c, err := privacy.CertificateIn(path)
	if err != nil {
		return cli.AsUsageError(err)
	}
	r.fault = c.Verify()
	r.Any = cli.Fields{{Key: "verified", Value: r.fault == nil}, {Key: "certificate", Value: c}}
	fmt.Fprintf(&r.text, "\n%s\n", c.Text())
	if r.fault == nil {
		r.row("consistent", "every figure follows from the clip and noise of the releases; "+
			"who wrote it, privacy -verify with -fleet shows")
	}
	return nil
}

// fleetFile says who is in a fleet, what they do, and what that costs.
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
	m, hash := f.Method, f.Hash()
	r.row("run", "%q, %d parameters, %d rounds of %d local steps%s and %d of cool-down", f.Run, f.Dim, m.Rounds, m.Tau,
		cli.MixingText(m.Mixing), m.Cooldown)
	r.row("hash", "%s", hex.EncodeToString(hash[:]))
	for i, member := range file.Members {
		r.memberRow(f.Members, member, g.Neighbors(i))
	}
	if g.N() > 1 {
		r.row("edges", "%d, Laplacian lambda_2 %.6g, lambda_N %.6g", len(f.Edges), g.Lambda2(), g.LambdaMax())
		r.row("gain", "%.4g of the limit 8/3 of stability", m.Gain)
	}
	pr := f.Privacy
	if pr.NonPrivate {
		r.row("privacy", "NOT PRIVATE: what a member sends may reveal its data")
		return nil
	}
	r.row("privacy", "noise %.6g on updates clipped to %.6g", pr.Sigma, pr.Clip)
	r.row("adversary", "%s", pr.Shared().Adversary())
	if pr.PairSigma > 0 {
		r.row("", "noise of %.6g that each two neighbors share on top; all of it is as good as %.6g against these",
			pr.PairSigma, pr.EffectiveSigma)
	}
	cost := dpmech.CostOf(f.Total(m.Rounds), pr.Delta)
	r.row("spent", "after round %d %s; zero-out %s", m.Rounds, cli.CostText(cost), cli.EpsilonText(cost.EpsilonZeroOut))
	if cost.AgainstAll != nil {
		r.row("", "%s %s", cli.AgainstAll, cli.CostText(*cost.AgainstAll))
	}
	return nil
}

// memberRow says who a member is; neighbors are numbers of members.
func (r *inspection) memberRow(members []string, m fleetfile.Member, neighbors []int) {
	texts := func(keys []ed25519.PublicKey, between string) string {
		var all []string
		for _, k := range keys {
			all = append(all, transport.FormatKey(k))
		}
		return strings.Join(all, between)
	}
	var names []string
	for _, j := range neighbors {
		names = append(names, members[j])
	}
	retired := ""
	if len(m.Retired) > 0 {
		retired = ", retired " + texts(m.Retired, " and ")
	}
	r.row("member", "%q at %s, neighbors %q, key %s%s", m.Name, strings.Join(m.Addresses, " "), names, texts(m.Keys, " or "),
		retired)
}

// modelFile says what is in a model file, and whether the certificate in it is right and the model's.
func (r *inspection) modelFile(path string) error {
	m, err := builtin.ReadModel(path)
	if err != nil {
		return cli.AsUsageError(err)
	}
	fleet, sum := hex.EncodeToString(m.Fleet[:]), sdk.ModelHash(m.Weights)
	what := "last release"
	if m.Averaged {
		what = "mean of the releases"
	}
	r.row("run", "%q, round %d of %d by %q, %s", m.Run, m.Round, m.Rounds, m.Member, what)
	r.row("fleet_hash", "%s", fleet)
	r.row("model_sha256", "%s, of %d numbers", sum, len(m.Weights))
	if t := m.Task; t != nil {
		r.row("task", "%v on %s data fitted on %s", m.Task.Model, t.Source, t.FittedOn)
		if t.Target != nil {
			r.row("says", "%q, from %.6g to %.6g", t.Label, t.Target.Low, t.Target.High)
		} else {
			r.row("classes", "%s", strings.Join(t.Classes, ", "))
		}
		var columns []string
		for _, c := range t.Columns {
			columns = append(columns, c.Name)
		}
		r.row("columns", "%s", strings.Join(columns, ", "))
	} else {
		r.row("no_task", "%s: predict and evaluate refuse it", m.NoTask)
	}
	switch {
	case m.NonPrivate:
		r.row("privacy", "NOT PRIVATE: the model may reveal data of its members")
	case m.Certificate == nil:
		r.row("certificate", "none")
	default:
		r.modelCertificate(path, m, fleet)
	}
	return nil
}

// modelCertificate says whether the certificate in a model file is right and the model's.
func (r *inspection) modelCertificate(path string, m *builtin.Model, fleet string) {
	c, err := dpmech.ParseCertificate(m.Certificate)
	if err == nil {
		err = c.Verify()
	}
	if err == nil && (c.Run != m.Run || c.Fleet != fleet || c.Member != m.Member) {
		err = fmt.Errorf("it is of %q in run %q", c.Member, c.Run)
	}
	if r.fault = privacy.Right(path+": certificate", err); err == nil {
		r.row("certificate", "of %d releases; its numbers are right. Who wrote it, privacy -verify with -fleet shows", c.Rounds)
	} else {
		r.row("certificate", "not good: %v", err)
	}
}
