package program

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spade-dfl/spade-edge/sdk/broker"
	"github.com/spade-dfl/spade-edge/sdk/builtin"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/scorer"
	"github.com/spade-dfl/spade-edge/sdk/signed"
	"github.com/spade-dfl/spade-edge/sdk/task"
	"github.com/spade-dfl/spade-edge/sdk/wire"
)

// initOptions are the flags of the command init.
type initOptions struct {
	options
	dir, runID, nodeNames, membersFile string
	n, port, dim, samples, stop        int
	hosts, nats, dataset               string
	stream, oneshot                    commandFlag
	workers                            int
	deal                               bool
	taskFile                           string

	members []fleetfile.Member // of -members
	task    []byte             // of the fleet file: how members prepare their data; nil for none
	recipe  *task.Recipe       // what it says
}

// commandFlag is a program and its arguments, separated by spaces; one with spaces in it stands in double quotes.
type commandFlag []string

func (c *commandFlag) String() string { return strings.Join(*c, " ") }

func (c *commandFlag) Set(s string) error {
	r := csv.NewReader(strings.NewReader(strings.TrimSpace(s)))
	r.Comma, r.TrimLeadingSpace = ' ', true
	lines, err := r.ReadAll()
	if err != nil || len(lines) > 1 {
		return errors.New("want a program and its arguments, separated by spaces; what has spaces in it in double quotes")
	}
	*c = nil
	if len(lines) == 1 {
		*c = lines[0]
	}
	return nil
}

func initFleet(ctx context.Context, c *cmdline) error {
	o := &initOptions{options: newOptions(c)}
	o.spec.Source, o.graph, o.partition, o.limited = "synthetic:clinical", "ring", "iid", true
	if err := o.read(c); err != nil {
		return err
	}
	p, err := prompt(ctx, o.build)
	if err != nil {
		return err
	}
	r, err := o.make(p)
	if err != nil {
		return err
	}
	if !c.json {
		p.writeChosen(c.log)
	}
	return c.print(r, func(t table) { r.write(t, o) })
}

func (o *initOptions) read(c *cmdline) (err error) {
	c.IntVar(&o.n, "n", 0, "a trial of `N` nodes, node-0 and so on")
	c.StringVar(&o.nodeNames, "nodes", "", "a trial of nodes with these `names`, separated by commas")
	c.StringVar(&o.membersFile, "members", "", "the `file` with the lines that keygen has printed on each device")
	c.StringVar(&o.runID, "run", "", "`id` of the run, a new one for every new run (default the last part of DIR)")
	c.StringVar(&o.hosts, "hosts", "", "where each node is reached, host:port or wss://host:port/path, "+
		"separated by commas, in the order of the nodes")
	c.StringVar(&o.nats, "nats", "", "nodes meet at the broker tls://host:port, and "+
		"need no addresses; run them with spade-edge-nats")
	c.IntVar(&o.port, "port", 7443, "trial: the first node's port on 127.0.0.1; the others follow")
	c.IntVar(&o.dim, "dim", 0, "length of the parameter vector, d, where it does not follow from the data")
	c.IntVar(&o.samples, "samples", 100, "about how many samples a node has, m, where they are not dealt out")
	c.Var(&o.stream, "stream", "the `program` of yours, with its arguments, that answers query after query")
	c.Var(&o.oneshot, "oneshot", "the `program` of yours, with its arguments, that is started for each "+
		"query; {sample} and {params} in them are filled in")
	c.IntVar(&o.workers, "workers", 1, "how many of the program run side by side")
	c.BoolVar(&o.deal, "deal", false, "all nodes have the same data files, and each "+
		"takes its part (default true without -members)")
	c.StringVar(&o.dataset, "dataset", "", "what people call the data of the nodes' ledgers: "+
		"`text` before the node's name (default \"data of\")")
	c.IntVar(&o.stop, "stop", 1, "how many members have to ask for an early end of the run, 1..8; 0 if nobody may")
	c.StringVar(&o.taskFile, "task", "", "the `file` that fit has written: how "+
		"every node prepares its own -data, and the model")
	o.registerData(c)
	o.registerModel(c)
	o.registerRun(c)
	if o.dir, err = c.parseFile(); err != nil {
		return err
	}
	if !o.given["deal"] {
		o.deal = !o.given["members"] && !o.given["task"] && o.builtin()
	}
	o.spec.Whole = !o.deal
	if o.taskFile != "" {
		if o.recipe, err = builtin.ReadTask(o.taskFile); err == nil {
			o.task, err = builtin.MarshalTask(o.recipe)
		}
	}
	if err == nil && o.membersFile != "" {
		o.members, err = readMembers(o.membersFile)
	}
	if err != nil {
		return asUsageError(err)
	}
	return o.check()
}

// builtin says whether the nodes learn with the built-in model: by -data, or because nothing was said.
func (o *initOptions) builtin() bool {
	return o.given["data"] || !o.given["stream"] && !o.given["oneshot"] && !o.given["dim"]
}

// check settles who takes part and where, and reports every fault that shows without data.
func (o *initOptions) check() error {
	var f faults
	n := count(o.given["n"], o.given["nodes"], o.given["members"])
	f.when(n != 1, "-n, -nodes and -members: give one, it says who takes part; not %d", n)
	f.when(count(o.given["data"], o.given["stream"], o.given["oneshot"]) > 1,
		"-data, -stream and -oneshot exclude each other: a node learns from one of them")
	switch {
	case o.given["members"]:
		for _, m := range o.members {
			o.names = append(o.names, m.Name)
		}
	case o.given["nodes"]:
		o.names = list(o.nodeNames)
	case o.given["n"] && (o.n < 1 || o.n > 1000):
		f.add("-n is %d, want 1..1000", o.n)
	default:
		for i := range o.n {
			o.names = append(o.names, "node-"+strconv.Itoa(i))
		}
	}
	o.nodes = max(1, len(o.names)) // none is a fault already told
	for i, name := range o.names {
		if name == "" || strings.HasPrefix(name, ".") || strings.ContainsAny(name, `/\`) || !filepath.IsLocal(name) ||
			name == "fleet.json" {
			f.add("name %q of node %d: want one that can be the name of a folder", name, i)
		}
	}
	o.checkPlaces(&f)
	if o.runID == "" {
		if abs, err := filepath.Abs(o.dir); err == nil {
			o.runID = filepath.Base(abs)
		}
	}
	own := o.builtin() && !o.deal
	f.when(o.deal && !o.builtin(), "-deal goes with -data only")
	if o.recipe != nil {
		f.when(o.deal || !o.given["data"],
			"-task goes with -data of each node's own: in a trial preprocessing is fitted on the data that are dealt out")
		f.when(o.given["dim"] && o.dim != o.recipe.Dim(),
			"-dim is %d, but %s makes it %d: leave it out", o.dim, o.taskFile, o.recipe.Dim())
		for _, name := range preparation {
			f.when(o.given[name], "-%s does not go with -task, which says so already", name)
		}
		o.dim, o.number = o.recipe.Dim(), o.recipe.Model.Name == task.LinearModel
	}
	f.when(o.recipe == nil && (own || !o.builtin()) && !o.given["dim"],
		"-dim is missing: the length of the parameter vector does not follow from data that are not here")
	f.when(own && o.recipe == nil && o.model.Name == task.PerceptronModel,
		"-model perceptron on each node's own data needs -task: its start must be the same for all")
	f.when(o.given["dim"] && (o.dim < 1 || o.dim > wire.MaxDim), "-dim is %d, want 1..%d", o.dim, wire.MaxDim)
	f.when(o.given["samples"] && o.deal, "-samples does not go with data that are dealt out, which are counted")
	f.when(o.stop < 0 || o.stop > min(signed.MaxStops, o.nodes), "-stop is %d, want 0..%d", o.stop, min(signed.MaxStops, o.nodes))
	f.when(o.samples < 1, "-samples is %d, want at least 1", o.samples)
	program := scorer.OneShotConfig{Program: scorer.Program{Command: o.oneshot}, Samples: o.samples}
	if err := program.Validate(); err != nil && len(o.oneshot) > 0 && o.samples >= 1 {
		f.add("-oneshot: %w", err)
	}
	f.when(o.workers < 1 || o.workers > 1024 || o.given["workers"] && !o.given["stream"] && !o.given["oneshot"],
		"-workers is %d, want 1..1024, with -stream or -oneshot only", o.workers)
	f.empty(o.given, "stream", o.stream.String(), "oneshot", o.oneshot.String(), "nodes", o.nodeNames,
		"members", o.membersFile, "run", o.runID)
	for _, name := range append(preparation, "test-fraction", "partition") {
		f.when(o.given[name] && !o.builtin(), "-%s goes with -data only", name)
	}
	f.when(o.asked.Privacy.NonPrivate && o.given["dataset"] || o.given["members"] && o.given["dataset"],
		"-dataset names the data of ledgers, and none are made here")
	entries, err := os.ReadDir(o.dir)
	f.when(len(entries) > 0, "%s has something in it: nothing is ever overwritten", o.dir)
	f.when(err != nil && !errors.Is(err, os.ErrNotExist), "%w", err)
	o.conflicts(&f)
	return f.usage()
}

func (o *initOptions) checkPlaces(f *faults) {
	f.when(count(o.given["hosts"], o.given["port"], o.given["nats"]) > 1, "-hosts, -port and -nats exclude each other")
	if o.members == nil {
		for _, name := range o.names {
			o.members = append(o.members, fleetfile.Member{Name: name})
		}
	}
	switch hosts := list(o.hosts); {
	case o.given["hosts"]:
		if len(hosts) != len(o.names) {
			f.add("-hosts has %d places, want one for each of %d nodes", len(hosts), len(o.names))
			return
		}
		for i, host := range hosts {
			f.when(o.members[i].Addresses != nil, "-hosts: %q has an address in %s already", o.names[i], o.membersFile)
			var err error
			if o.members[i].Addresses, err = memberAddresses("-hosts", []string{host}); err != nil {
				f.add("%w", err)
			}
		}
	case o.given["nats"]:
		if err := broker.Check(o.nats); err != nil {
			f.add("-nats %w", err)
		}
		for i := range o.members {
			o.members[i].Addresses = nil // nobody is dialed
		}
	case o.given["members"]:
		some := func(m fleetfile.Member) bool { return len(m.Addresses) > 0 }
		f.when(len(o.members) > 1 && !slices.ContainsFunc(o.members, some),
			"nobody in %s has an address: want lines of keygen -address, or -hosts, or -nats", o.membersFile)
	default:
		if last := o.port + len(o.names) - 1; o.port < 1 || last > 65535 {
			f.add("-port is %d, want ports of 1..65535 for %d nodes", o.port, len(o.names))
			return
		}
		for i := range o.members {
			o.members[i].Addresses = []string{fmt.Sprintf("wss://127.0.0.1:%d/", o.port+i)}
		}
	}
}

// build works out the fleet: from the data if they are dealt out, and else as plan does.
func (o *initOptions) build() (*problem, error) {
	var p *problem
	var err error
	if o.deal {
		if p, err = o.options.build(o.runID); err == nil && o.given["dim"] && o.dim != p.fleet.Dim {
			err = asUsageError(fmt.Errorf("-dim is %d, but the data make it %d: leave it out", o.dim, p.fleet.Dim))
		}
		if err == nil {
			o.task, o.recipe, err = fitRecipe(o.dataSpec(), o.modelSpec(), "the data of all nodes of this trial together")
		}
	} else {
		p = &problem{opt: o.options, samples: slices.Repeat([]int{o.samples}, o.nodes)}
		if p.graph, err = o.parseGraph(); err != nil {
			return nil, asUsageError(err)
		}
		if o.recipe != nil {
			p.x0 = o.recipe.Start(o.asked.Method.Seed)
		} else if s := o.dataSpec(); o.builtin() && s.Validate() != nil {
			return nil, asUsage(s.Validate())
		}
		p.choose("samples", o.samples)
		err = p.makeFleet(o.runID, o.dim)
	}
	if err != nil {
		return nil, err
	}
	p.fleet.Task = o.task
	p.choose("run", o.runID, "graph", o.graph)
	if err := p.fleet.Validate(); err != nil { // the task came last
		return nil, asUsageError(err)
	}
	return p, nil
}
