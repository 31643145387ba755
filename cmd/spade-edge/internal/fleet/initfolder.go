package fleet

import (
	"bytes"
	"cmp"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/privacy"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/setup"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/plan"
	"github.com/spade-dfl/spade-edge/sdk/secret"
	"github.com/spade-dfl/spade-edge/sdk/state"
	"github.com/spade-dfl/spade-edge/transport"
)

// InitResult is the result of the init command, printed as text or, with -json, as JSON.
type InitResult struct {
	Dir       string         `json:"dir"`
	Fleet     string         `json:"fleet"`
	Run       string         `json:"run"`
	FleetHash string         `json:"fleet_hash"`
	Dim       int            `json:"dim"`
	Privacy   *setup.Privacy `json:"privacy"` // for the whole run; null if it is not private
	Nodes     []initNode     `json:"nodes"`
	Start     []string       `json:"start,omitempty"` // where the start comes from; only with -x0
	Chosen    map[string]any `json:"chosen"`
	Forecast  *plan.Outlook  `json:"forecast"` // null without noise

	fleet  *sdk.Fleet
	runOut []string // members without a one-time key for another run
}

type initNode struct {
	Name      string   `json:"name"`
	File      string   `json:"file"`
	Addresses []string `json:"addresses"`
	Keys      []string `json:"keys"` // fingerprints
}

// make writes the fleet's folder under a temporary name, reads every file back, and then renames the folder.
func (o *initOptions) make(p *setup.Problem) (r *InitResult, err error) {
	dir, err := filepath.Abs(o.dir)
	if err != nil {
		return nil, err
	}
	stage, err := os.MkdirTemp(filepath.Dir(dir), ".spade-edge-init-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(stage) }() // does nothing on success: the folder has a new name then
	file := &fleetfile.File{Fleet: p.Fleet}
	if p.Fleet.X0 != nil {
		file.X0File = "x0.bin"
	}
	known := p.NewResult(false)
	r = &InitResult{
		Dir: o.dir, Fleet: filepath.Join(o.dir, "fleet.json"), Run: p.Fleet.Run, Dim: p.Fleet.Dim,
		Start: o.start, Privacy: known.Privacy, Chosen: known.Chosen, Forecast: known.Forecast, fleet: p.Fleet,
	}
	for i, m := range o.members {
		if err := o.makeNode(filepath.Join(stage, m.Name), i, &m, p.Fleet.Privacy); err != nil {
			return nil, err
		}
		file.Members = append(file.Members, m)
		r.Nodes = append(r.Nodes, initNode{m.Name, filepath.Join(o.dir, m.Name, "node.json"), m.Addresses, cli.Fingerprints(m.Keys)})
	}
	if r.runOut, err = takePairKeys(file); err != nil {
		return nil, err
	}
	r.FleetHash = fmt.Sprintf("%x", p.Fleet.Hash())
	if err := file.Write(filepath.Join(stage, "fleet.json")); err != nil {
		return nil, cli.AsUsageError(err)
	}
	for _, m := range file.Members {
		node, err := fleetfile.ReadNode(filepath.Join(stage, m.Name, "node.json"))
		if err == nil && !o.Given["members"] {
			_, err = node.KeyIn(file)
		}
		if err != nil {
			return nil, cli.AsUsageError(err)
		}
	}
	if err := os.Chmod(stage, 0o755); err != nil {
		return nil, err
	}
	_ = os.Remove(dir) // removes dir only if it is empty
	return r, os.Rename(stage, dir)
}

// makeNode creates a node's folder. In a trial, it also creates the node's key and, if members share noise, one-time keys,
// and adds the public keys to m.
func (o *initOptions) makeNode(dir string, number int, m *fleetfile.Member, p sdk.Privacy) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	fleet := "fleet.json"
	if !o.Given["members"] {
		fleet = "../fleet.json"
		key, err := secret.CreateKey(filepath.Join(dir, "node.key"))
		if err == nil && !p.NonPrivate {
			err = privacy.CreateLedger(filepath.Join(dir, "ledger.json"), "data of "+m.Name, p.Protects(), nil, state.NeverUsed)
		}
		if err == nil && p.PairSigma > 0 {
			m.PairKeys, err = pairKeys(dir, m.Name, trialPairs)
		}
		if err != nil {
			return err
		}
		m.Keys = append(m.Keys, key)
	}
	form := nodeForm{Fleet: fleet, Oracle: o.oracle(number)}
	if o.broker != "" {
		form.Transport = map[string]string{o.broker: o.brokerAt}
	}
	text, err := form.text(*m, !o.Asked.Privacy.NonPrivate)
	if err != nil {
		return err
	}
	return state.Replace(filepath.Join(dir, "node.json"), text, 0o600)
}

type nodeForm struct {
	Version   int    `json:"version"`
	Name      string `json:"name"`
	Fleet     string `json:"fleet"`
	Key       string `json:"key"`
	Transport any    `json:"transport,omitempty"` // nil for websockets
	Listen    string `json:"listen,omitempty"`
	State     string `json:"state"`
	Ledger    string `json:"ledger,omitempty"`
	Oracle    any    `json:"oracle"`
}

func (n nodeForm) text(m fleetfile.Member, private bool) ([]byte, error) {
	n.Version, n.Name, n.Key, n.State = 1, m.Name, "node.key", "state"
	if n.Transport == nil && len(m.Addresses) > 0 {
		n.Listen = listenAt(m.Addresses[0])
	}
	if private {
		n.Ledger = "ledger.json"
	}
	var b bytes.Buffer
	err := cli.WriteObject(&b, n)
	return b.Bytes(), err
}

func (o *initOptions) oracle(number int) map[string]any {
	switch {
	case o.Given["format"]:
		return map[string]any{"stream": o.stream, "format": o.format}
	case o.Given["stream"]:
		return map[string]any{"stream": o.stream}
	case !o.builtin():
		return map[string]any{"stream": []string{setup.Gap}}
	}
	s := o.DataSpec()
	b := map[string]any{"data": s.Source, "seed": s.Seed}
	if kind, path, ok := strings.Cut(s.Source, ":"); ok && kind != "synthetic" && o.deal {
		if abs, err := filepath.Abs(path); err == nil {
			b["data"] = kind + ":" + abs
		}
	}
	if o.Given["na"] {
		b["na"] = s.NA
	}
	if o.Given["test-fraction"] {
		b["test_fraction"] = s.TestFraction
	}
	if o.deal {
		b["share"] = map[string]any{"partition": o.Partition, "of": o.Nodes, "number": number}
	}
	return map[string]any{"builtin": b}
}

// listenAt returns where a node at an address listens: on loopback for a loopback address, else on all interfaces.
func listenAt(address string) string {
	host, hostPort, err := transport.ParseAddress(address)
	if err == nil && host != "localhost" && !net.ParseIP(host).IsLoopback() {
		_, port, _ := net.SplitHostPort(hostPort)
		return ":" + port
	}
	return hostPort // "" for an address that no neighbor can dial
}

func (r *InitResult) write(t cli.Table, o *initOptions) {
	t.Row("fleet", "%s: run %q, %d nodes, %d parameters, hash %s", r.Fleet, r.Run, len(r.Nodes), r.Dim, r.FleetHash[:16])
	for _, line := range r.Start {
		t.Row("start", "%s", line)
	}
	for _, n := range r.Nodes {
		t.Row("node", "%s, at %s", n.File, cmp.Or(strings.Join(n.Addresses, ", "), o.brokerAt))
	}
	m, then := r.fleet.Method, "without a cool-down: each node ends with a different model"
	if m.Cooldown > 0 {
		then = fmt.Sprintf("and %d of cool-down", m.Cooldown)
	}
	t.Row("rounds", "%d%s, %s", m.Rounds, cli.MixingText(m.Mixing), then)
	r.Privacy.Write(t, m.Rounds, false)
	if r.Forecast != nil {
		t.Row("forecast", "%s", setup.ForecastText(r.fleet, r.Forecast))
	}
	if r.runOut != nil {
		t.Row("keys", "%s", runOut(r.runOut))
	}
	program, file := "spade-edge", r.Nodes[0].File
	first := "spade-edge check " + file + ", then "
	if o.broker != "" {
		program, first = "spade-edge-"+o.broker, ""
	}
	if o.Given["members"] {
		for _, n := range r.Nodes {
			t.Row("key", "%s  %q", strings.Join(n.Keys, " or "), n.Name)
		}
		t.Row("next", "phone each member and compare its key: keygen printed the fingerprint on its device")
		t.Row("next", "on each device, put fleet.json and its own node.json next to its key; there: %s check node.json", program)
	} else {
		t.Row("next", "for each node: %s%s run %s", first, program, file)
	}
}
