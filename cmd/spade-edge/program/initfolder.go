package program

import (
	"cmp"
	"encoding/hex"
	"errors"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
)

// initResult is what was made, and its JSON.
type initResult struct {
	Dir        string         `json:"dir"`
	Fleet      string         `json:"fleet"` // path of the fleet file
	Run        string         `json:"run"`
	FleetHash  string         `json:"fleet_hash"`
	Dim        int            `json:"dim"`
	Rounds     int            `json:"rounds"`
	Cooldown   int            `json:"cooldown"`
	Mixing     int            `json:"mixing,omitempty"`
	NonPrivate bool           `json:"non_private"`
	Epsilon    *float64       `json:"epsilon"` // of the whole run, null if it is not private
	Delta      *float64       `json:"delta"`
	Adversary  string         `json:"adversary,omitempty"`           // against whom epsilon holds, in a private run
	EpsilonAll *float64       `json:"epsilon_against_all,omitempty"` // against all other members, where noise is shared
	Left       float64        `json:"share_left"`                    // of disagreement, after the cool-down
	Nodes      []initNode     `json:"nodes"`
	Chosen     map[string]any `json:"chosen"`
	Forecast   *sdk.Forecast  `json:"forecast"` // null without noise

	forecast string // in words
}

type initNode struct {
	Name      string   `json:"name"`
	File      string   `json:"file"`
	Addresses []string `json:"addresses"`
}

// make writes the folder: first another one beside it, which gets its name when everything in it has been read back.
func (o *initOptions) make(p *problem) (r *initResult, err error) {
	dir, err := filepath.Abs(o.dir)
	if err != nil {
		return nil, err
	}
	stage, err := os.MkdirTemp(filepath.Dir(dir), ".spade-edge-init-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(stage) }() // gone, if all went well
	if o.stop > 0 {
		p.fleet.Stop = &sdk.Stop{Members: o.stop}
	}
	file := &fleetfile.File{Fleet: p.fleet}
	if p.x0 != nil {
		file.X0File = "x0.bin"
	}
	r = &initResult{
		Dir: o.dir, Fleet: filepath.Join(o.dir, "fleet.json"), Run: p.fleet.Run, Dim: p.fleet.Dim,
		Rounds: p.fleet.Method.Rounds, Cooldown: p.fleet.Method.Cooldown, Mixing: p.fleet.Method.Mixing,
		NonPrivate: o.asked.Privacy.NonPrivate,
	}
	for i, m := range o.members {
		if err := o.makeNode(filepath.Join(stage, m.Name), i, &m); err != nil {
			return nil, err
		}
		file.Members = append(file.Members, m)
		r.Nodes = append(r.Nodes, initNode{m.Name, filepath.Join(o.dir, m.Name, "node.json"), m.Addresses})
	}
	if err := file.Write(filepath.Join(stage, "fleet.json")); err != nil {
		return nil, asUsageError(err)
	}
	for _, m := range file.Members {
		node, err := fleetfile.ReadNode(filepath.Join(stage, m.Name, "node.json"))
		if err == nil && !o.given["members"] {
			_, _, err = node.Load()
		}
		if err != nil {
			return nil, asUsageError(err)
		}
	}
	hash := p.fleet.Hash()
	r.FleetHash, r.Chosen, r.Left = hex.EncodeToString(hash[:]), p.chosenValues(), 1
	if m := p.fleet.Method; o.nodes > 1 { // what the cool-down leaves of the disagreement that noise makes
		calm := p.graph.Settle(p.graph.Gain(m.Gain, m.Rho), m.Rho, p.course(), 0.05, m.Seed)
		r.Left = calm.Left[min(m.Cooldown, len(calm.Left)-1)]
	}
	if pr := p.fleet.Privacy; !pr.NonPrivate {
		spent := p.fleet.Total(p.fleet.Method.Rounds)
		eps, all := dpmech.GDP.Epsilon(spent.Rho, pr.Delta), dpmech.GDP.Epsilon(spent.All, pr.Delta)
		r.Epsilon, r.Delta, r.Adversary = &eps, &pr.Delta, pr.Shared().Adversary()
		if spent.All != spent.Rho {
			r.EpsilonAll = &all
		}
		r.Forecast = p.forecast()
		r.forecast = forecastText(p.fleet, r.Forecast)
	}
	if err := os.Chmod(stage, 0o755); err != nil {
		return nil, err
	}
	_ = os.Remove(dir) // if it is there, and empty
	return r, os.Rename(stage, dir)
}

// makeNode makes a node's folder. In a trial it makes the node's key as well, and adds it to the member.
func (o *initOptions) makeNode(dir string, number int, m *fleetfile.Member) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	fleet := "fleet.json"
	if !o.given["members"] {
		fleet = "../fleet.json"
		key, err := fleetfile.CreateKey(filepath.Join(dir, "node.key"))
		if err == nil && !o.asked.Privacy.NonPrivate {
			err = createLedger(filepath.Join(dir, "ledger.json"), cmp.Or(o.dataset, "data of")+" "+m.Name, nil)
		}
		if err != nil {
			return err
		}
		m.Keys = append(m.Keys, key)
	}
	text := fields{{"version", 1}, {"name", m.Name}, {"fleet", fleet}, {"key", "node.key"}}
	if o.given["nats"] {
		text = append(text, field{"transport", fields{{"nats", o.nats}}})
	} else if len(m.Addresses) > 0 {
		text = append(text, field{"listen", listenAt(m.Addresses[0])})
	}
	text = append(text, field{"state", "state"})
	if !o.asked.Privacy.NonPrivate {
		text = append(text, field{"ledger", "ledger.json"})
	}
	text = append(text, field{"oracle", o.oracle(number)})
	if o.given["table"] {
		text = append(text, field{"table", o.table})
	}
	if o.average {
		text = append(text, field{"average", true})
	}
	f, err := os.OpenFile(filepath.Join(dir, "node.json"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(writeObject(f, text), f.Sync(), f.Close())
}

func (o *initOptions) oracle(number int) map[string]any {
	switch {
	case o.given["stream"]:
		return map[string]any{"stream": []string(o.stream), "workers": o.workers}
	case o.given["oneshot"]:
		return map[string]any{"oneshot": []string(o.oneshot), "samples": o.samples, "workers": o.workers}
	case !o.builtin():
		return map[string]any{"stream": []string{gap}}
	}
	s := o.dataSpec()
	b := map[string]any{"data": s.Source, "seed": s.Seed}
	if kind, path, ok := strings.Cut(s.Source, ":"); ok && kind != "synthetic" && o.deal {
		if abs, err := filepath.Abs(path); err == nil {
			b["data"] = kind + ":" + abs
		}
	}
	if o.given["test-fraction"] {
		b["test_fraction"] = s.TestFraction
	}
	if o.recipe == nil {
		b["fit"], b["model"] = "own", o.modelSpec().Name
		for name, value := range map[string]any{
			"label": s.Label, "drop": s.Drop, "onehot": s.OneHot, "labels": s.Labels, "pca": s.PCA,
			"standardize": s.Standardize, "bias": s.Bias, "target": s.Target, "missing": s.Missing,
		} {
			if o.given[name] {
				b[name] = value
			}
		}
	}
	if o.deal {
		b["share"] = map[string]any{"partition": o.partition, "of": o.nodes, "number": number}
	}
	return map[string]any{"builtin": b}
}

// listenAt returns where the node with an address listens: on its own machine alone if that is what the address says,
// and otherwise on every network.
func listenAt(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	host := u.Hostname()
	if ip := net.ParseIP(host); host != "localhost" && !ip.IsLoopback() {
		host = ""
	}
	return net.JoinHostPort(host, cmp.Or(u.Port(), "443"))
}

func (r *initResult) write(t table, o *initOptions) {
	t.row("fleet", "%s: run %q, %d nodes, %d parameters, hash %s", r.Fleet, r.Run, len(r.Nodes), r.Dim, r.FleetHash[:16])
	for _, n := range r.Nodes {
		t.row("node", "%s, at %s", n.File, cmp.Or(strings.Join(n.Addresses, ", "), o.nats))
	}
	if r.Cooldown > 0 {
		t.row("rounds", "%d%s, and %d of cool-down, which leave %.2g of the nodes' disagreement", r.Rounds,
			mixingText(r.Mixing), r.Cooldown, r.Left)
	} else {
		t.row("rounds", "%d%s, without a cool-down: each node ends with a model of its own", r.Rounds, mixingText(r.Mixing))
	}
	if r.NonPrivate {
		t.row("privacy", "NOT PRIVATE: what a node sends may reveal its data")
	} else {
		t.row("privacy", "epsilon %s at delta %v for each node's whole data set, over the whole run, against %s",
			epsilonText(*r.Epsilon), *r.Delta, r.Adversary)
		if r.EpsilonAll != nil {
			t.row("", "epsilon %s %s", epsilonText(*r.EpsilonAll), againstAll)
		}
		t.row("forecast", "%s", r.forecast)
	}
	run, check := "spade-edge run", "; there: spade-edge check node.json"
	first := "spade-edge check " + r.Nodes[0].File + ", then "
	if o.given["nats"] {
		run, check, first = "spade-edge-nats run", "; there: spade-edge-nats check node.json", ""
	}
	if o.given["members"] {
		t.row("next", "bring fleet.json and each node's node.json beside its key%s", check)
		return
	}
	t.row("next", "for each node: %s%s %s", first, run, r.Nodes[0].File)
}
