package fleet

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/builtin"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/setup"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task"
	"github.com/spade-dfl/spade-edge/dpmech"
	"github.com/spade-dfl/spade-edge/sdk/admm"
	"github.com/spade-dfl/spade-edge/sdk/broker"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/scorer"
	"github.com/spade-dfl/spade-edge/sdk/wire"
)

// initOptions has the flags of the init command.
type initOptions struct {
	setup.Options
	dir, runID, nodeNames, membersFile, x0 string
	n, port, dim, samples                  int
	hosts                                  string
	broker, brokerAt                       string // kind and address of the broker; empty for websockets
	stream                                 []string
	format                                 scorer.Format // of the stream's messages; empty for the default
	deal                                   bool
	records                                []int // per node, with -unit record

	members []fleetfile.Member
	program json.RawMessage // the fleet's task, if its members' programs repeat it
	start   []string        // describes for people where the start comes from; nil without -x0
}

// words splits a command line at spaces. An argument in double quotes may contain spaces.
func words(text string) ([]string, error) {
	r := csv.NewReader(strings.NewReader(strings.TrimSpace(text)))
	r.Comma, r.TrimLeadingSpace = ' ', true
	lines, err := r.ReadAll()
	if err != nil || len(lines) != 1 {
		return nil, errors.New("want a program and its arguments, separated by spaces; enclose an argument with spaces in double quotes")
	}
	return lines[0], nil
}

// Init is the command that writes the files of a fleet.
func Init(ctx context.Context, c *cli.Cmdline) error {
	o := &initOptions{Options: setup.NewOptions(c)}
	o.Spec.Source, o.Graph, o.Partition = "synthetic:clinical", "ring", "iid"
	if err := o.read(c); err != nil {
		return err
	}
	p, err := cli.Prompt(ctx, o.build)
	if err != nil {
		return err
	}
	r, err := o.make(p)
	if err != nil {
		return err
	}
	if !c.JSON {
		p.WriteChosen(c.Log)
	}
	return c.Print(r, func(t cli.Table) { r.write(t, o) })
}

func (o *initOptions) read(c *cli.Cmdline) (err error) {
	c.IntVar(&o.n, "n", 0, "a trial of `N` nodes, node-0 and so on")
	c.StringVar(&o.nodeNames, "nodes", "", "a trial of nodes with these `names`, separated by commas (elsewhere -nodes is a number, here -n)")
	c.StringVar(&o.membersFile, "members", "", "the `file` with the lines that keygen printed on each device")
	c.StringVar(&o.runID, "run", "", "`id` of the run, a new one for every new run (default the last part of DIR)")
	c.StringVar(&o.hosts, "hosts", "", "where each node is reached, host:port or wss://host:port/path, "+
		"separated by commas, in the order of the nodes")
	for _, kind := range []string{"nats", "mqtt"} {
		c.Func(kind, "nodes meet at the "+strings.ToUpper(kind)+" broker `tls://host:port`, and need no addresses; run them with "+
			"spade-edge-"+kind, func(address string) error {
			o.broker, o.brokerAt = kind, address
			return nil
		})
	}
	c.IntVar(&o.port, "port", 7443, "trial: the first node's port on 127.0.0.1; the others follow")
	c.IntVar(&o.dim, "dim", 0, "number of the model's parameters, if it does not follow from the data")
	c.StringVar(&o.x0, "x0", "", "the parameters that all nodes start from: a .npy `file` of float32, a .json file that export wrote, or "+
		"normal:S, drawn from -seed with standard deviation S (default zeros, or what a perceptron needs)")
	c.IntVar(&o.samples, "samples", 100, "approximate number of samples of a node, m, unless -deal determines it")
	c.Func("records", "with -unit record: the `numbers` of records of the nodes, in their order, separated by commas, unless -deal "+
		"determines them; they are public (default -samples for all)", func(text string) (err error) {
		o.records, err = numbers(text)
		return err
	})
	c.Func("stream", "your `program`, with its arguments, that answers the queries", func(text string) (err error) {
		o.stream, err = words(text)
		return err
	})
	c.Func("format", "what the program of -stream speaks: json or cbor, as Python's spade_edge.scorer does (default json)", func(text string) error {
		o.format = scorer.Format(text)
		if o.format != scorer.JSON && o.format != scorer.CBOR {
			return fmt.Errorf("want %s or %s", scorer.JSON, scorer.CBOR)
		}
		return nil
	})
	c.BoolVar(&o.deal, "deal", false, "all nodes have the same data files, and each uses its own part (default true without -members and -task)")
	taskFile := c.String("task", "", "the `file` that fit wrote: how every node prepares its own -data, and the model; without -data: "+
		"a JSON object that every program must repeat in its hello")
	o.RegisterData(c)
	o.RegisterModel(c)
	o.RegisterRun(c)
	if o.dir, err = c.ParseFile(); err != nil {
		return err
	}
	if !o.Given["deal"] {
		o.deal = !o.Given["members"] && !o.Given["task"] && o.builtin()
	}
	o.Spec.Whole = !o.deal
	if o.Given["task"] && !o.builtin() {
		o.program, err = readProgramTask(*taskFile)
	} else {
		err = o.ReadTask(*taskFile)
	}
	if err == nil && o.membersFile != "" {
		o.members, err = readMembers(o.membersFile)
	}
	if err != nil {
		return cli.AsUsageError(err)
	}
	return o.check()
}

// readProgramTask reads the JSON object that the members' programs must repeat.
func readProgramTask(path string) (json.RawMessage, error) {
	text, err := fleetfile.ReadFile(path, fleetfile.MaxFile, "a task")
	if err != nil {
		return nil, err
	}
	if _, err := builtin.ReadTask(path); err == nil {
		return nil, cli.Usage("-task %s was made by fit, for built-in models: it needs -data", path)
	}
	task, err := fleetfile.MakeProgramTask(text)
	return task, fleetfile.In(path, err)
}

// builtin reports whether the nodes use a built-in model, as they do with -data and by default.
func (o *initOptions) builtin() bool {
	return o.Given["data"] || !o.Given["stream"] && !o.Given["dim"]
}

// check determines the members and their addresses, and reports all errors that it can find without reading data.
func (o *initOptions) check() error {
	var f cli.Faults
	n := cli.Count(o.Given["n"], o.Given["nodes"], o.Given["members"])
	f.When(n != 1, "-n, -nodes and -members each set the fleet's members: give exactly one of these flags, not %d", n)
	f.When(o.Given["format"] && !o.Given["stream"], "-format needs -stream: it is the format of the program's messages")
	f.When(o.Given["data"] && o.Given["stream"], "-data and -stream cannot be combined: a node learns from only one of them")
	o.nameMembers(&f)
	o.checkPlaces(&f)
	if o.runID == "" {
		if abs, err := filepath.Abs(o.dir); err == nil {
			o.runID = filepath.Base(abs)
		}
	}
	f.When(o.deal && !o.builtin(), "-deal needs -data")
	files, err := task.ClientFiles(o.Spec.Source)
	f.When(err != nil || files != nil, "-data %q names several files, which only simulate accepts: with -task and one name here, each node "+
		"reads the file that its node file names", o.Spec.Source)
	if o.Recipe != nil {
		f.When(o.deal || !o.Given["data"], "-task needs -data without -deal: with -deal, preprocessing is fitted on the common data")
		o.dim = o.Recipe.Dim()
	}
	f.When(o.builtin() && !o.deal && o.Recipe == nil, "-task is missing: it says how each node prepares its own -data, and fit makes it; or give -dim, "+
		"with -stream or a gap to fill in")
	f.When(o.builtin() && o.Given["dim"], "-dim cannot be combined with -data: the number of parameters follows from the data or the task")
	f.When(!o.builtin() && !o.Given["dim"], "-dim is missing: init cannot count the parameters of your program's model")
	f.When(o.Given["dim"] && (o.dim < 1 || o.dim > wire.MaxDim), "-dim is %d, want 1..%d", o.dim, wire.MaxDim)
	least := max(1, o.Asked.Privacy.Places) // at person level, of one person
	f.When(o.samples < least, "-samples is %d, want at least %d", o.samples, least)
	o.checkRecords(&f)
	for _, name := range append(setup.Preparation, "na", "test-fraction", "partition") {
		f.When(o.Given[name] && !o.builtin() && !(name == "person" && o.Given["places"]), "-%s needs -data", name)
	}
	entries, err := os.ReadDir(o.dir)
	f.When(len(entries) > 0, "%s is not empty, and init never overwrites files: give another folder", o.dir)
	f.When(err != nil && !errors.Is(err, os.ErrNotExist), "%w", err)
	o.Conflicts(&f)
	return f.Usage()
}

// nameMembers sets the members and their names from -n, -nodes or -members.
func (o *initOptions) nameMembers(f *cli.Faults) {
	f.When(o.Given["n"] && (o.n < 1 || o.n > 1000), "-n is %d, want 1..1000", o.n)
	_, err := strconv.Atoi(o.nodeNames)
	f.When(err == nil, "-nodes is %q, want names such as a,b,c; -n %[1]s makes a trial of node-0, node-1 and so on", o.nodeNames)
	names := setup.List(o.nodeNames)
	for i := range min(o.n, 1000) {
		names = append(names, "node-"+strconv.Itoa(i))
	}
	for _, name := range names {
		o.members = append(o.members, fleetfile.Member{Name: name})
	}
	for i, m := range o.members {
		o.Names = append(o.Names, m.Name)
		err := checkName(m.Name)
		f.When(err != nil, "node %d: %w", i, err)
	}
	o.Nodes = max(1, len(o.Names)) // that there are no nodes is already reported
}

// unfit matches what some system does not allow as the name of a folder, since members use several, and the names of the files
// beside it.
var unfit = regexp.MustCompile(`(?i)^\.|[. ]$|[<>:"|?*/\\\p{Cc}]|^(con|prn|aux|nul|com\d|lpt\d)(\..*)?$|^fleet.*\.json$|^x0.*\.bin$`)

// checkName returns an error unless a member may have this name, which is also the name of its folder next to the fleet
// file and the file with the start.
func checkName(name string) error {
	if len(name) < 1 || len(name) > wire.MaxName || !utf8.ValidString(name) {
		return fmt.Errorf("name %q has %d bytes, want 1..%d bytes of UTF-8", name, len(name), wire.MaxName)
	}
	if !filepath.IsLocal(name) || unfit.MatchString(name) {
		return fmt.Errorf("name %q is not a valid folder name next to fleet.json", name)
	}
	return nil
}

func (o *initOptions) checkPlaces(f *cli.Faults) {
	f.When(cli.Count(o.Given["hosts"], o.Given["port"], o.Given["nats"], o.Given["mqtt"]) > 1,
		"-hosts, -port, -nats and -mqtt cannot be combined")
	switch hosts := setup.List(o.hosts); {
	case o.Given["hosts"]:
		f.When(len(hosts) != len(o.Names), "-hosts: the number of addresses is %d, want %d (one for each node)", len(hosts), len(o.Names))
		for i := range min(len(hosts), len(o.Names)) {
			f.When(o.members[i].Addresses != nil, "-hosts: %q already has an address in %s", o.Names[i], o.membersFile)
			var err error
			o.members[i].Addresses, err = memberAddresses("-hosts", hosts[i])
			f.When(err != nil, "%w", err)
		}
	case o.broker != "":
		err := broker.Check(o.broker, o.brokerAt)
		f.When(err != nil, "-%s %w", o.broker, err)
		for i := range o.members {
			o.members[i].Addresses = nil // nodes dial only the broker
		}
	case o.Given["members"]:
		some := func(m fleetfile.Member) bool { return len(m.Addresses) > 0 }
		f.When(len(o.members) > 1 && !slices.ContainsFunc(o.members, some), "no member in %s has an address: use the lines that keygen "+
			"-address prints, or set -hosts, -nats or -mqtt", o.membersFile)
	default:
		last := o.port + len(o.Names) - 1
		f.When(o.port < 1 || last > 65535, "-port is %d, so the ports of the %d nodes are not all in 1..65535", o.port, len(o.Names))
		for i := range o.members {
			o.members[i].Addresses = []string{fmt.Sprintf("wss://127.0.0.1:%d/", o.port+i)}
		}
	}
}

// build creates the fleet. With -deal, it uses the data that init distributes to the nodes; otherwise, like the plan
// command, it uses no data.
func (o *initOptions) build() (*setup.Problem, error) {
	var p *setup.Problem
	var err error
	if o.deal {
		if p, err = o.Options.Build(o.runID); err == nil {
			o.Recipe, err = p.Recipe("the data of all nodes of this trial together")
		}
	} else {
		p = &setup.Problem{Opt: o.Options}
		places, each := max(1, o.Asked.Privacy.Places), o.records // at person level, each record has several places
		if each == nil {
			each = slices.Repeat([]int{o.samples / places}, o.Nodes)
			p.Choose("samples", o.samples)
		}
		for _, records := range each {
			p.Samples = append(p.Samples, records*places)
		}
		if p.Graph, err = o.ParseGraph(); err != nil {
			return nil, cli.AsUsageError(err)
		}
		if o.Recipe != nil {
			p.X0 = o.Recipe.Start(o.Asked.Method.Seed)
		}
		err = p.MakeFleet(o.runID, o.dim)
	}
	if err == nil && o.Recipe != nil {
		p.Fleet.Task, err = builtin.MarshalTask(o.Recipe)
	} else if err == nil {
		p.Fleet.Task = o.program
	}
	if err == nil && o.x0 != "" {
		err = begin(p.Fleet, o.x0, o.note)
	}
	if err != nil {
		return nil, err
	}
	p.Choose("run", o.runID, "graph", o.Graph)
	p.Plan, err = p.Fleet.PlanOn(p.Graph) // with the task and the start
	return p, cli.AsUsageError(err)
}

func (o *initOptions) note(format string, args ...any) {
	o.start = append(o.start, fmt.Sprintf(format, args...))
}

// checkRecords checks -records and related flags: with -unit record, each node's number of records must be exact.
func (o *initOptions) checkRecords(f *cli.Faults) {
	each := o.Asked.Privacy.Unit == dpmech.Record
	f.When(o.Given["records"] && !each, "-records needs -unit record: only then are the numbers of records fixed and public")
	f.When(cli.Count(o.Given["records"], o.Given["samples"], o.deal) > 1,
		"-records, -samples and -deal (the default without -members and -task) cannot be combined: each sets the numbers of samples")
	switch {
	case !each:
	case o.deal:
		f.When(o.Partition != "iid", "-partition is %s, want iid with -unit record: in a partition by labels, the label of one record would "+
			"affect which other records a node gets", o.Partition)
		f.When(len(o.Spec.Labels) > 0, "-labels cannot be combined with both -deal and -unit record: leaving out samples changes the "+
			"number of records, which is public and fixed; use data with only these classes")
	default:
		f.When(!o.Given["samples"] && len(o.records) != len(o.Names), "-records has %d numbers, want one for each of %d nodes, or -samples "+
			"if all are the same: with -unit record, the numbers are public and fixed", len(o.records), len(o.Names))
		places := o.Asked.Privacy.Places
		f.When(places > 1 && !o.builtin() && o.Spec.Person == "", "-places needs -person: the column that names the person of a row, by "+
			"which your program groups the rows")
		if o.Recipe != nil {
			f.When(places == 0 && o.Recipe.Person != "", "-places is missing: the task identifies persons by the column %q, so give the "+
				"maximum number of rows per person; this number is public, and further rows are ignored", o.Recipe.Person)
			f.When(places > 1 && o.Recipe.Person == "", "-places needs a column that identifies the person in each row, but the -task file "+
				"has none: fit the task with -person COLUMN")
		}
	}
}

// weigh rescales the clip and the noise after a change to the mean number of records, because the method divides the
// contribution of each record by this mean. After rescaling, each record's gradient estimate is clipped to the same
// norm as before. Epsilon stays the same, except that its last digit may decrease.
func (e *fleetEdit) weigh() {
	p := &e.file.Fleet.Privacy
	ratio := admm.NewRecords(e.old.Fleet.Records, 1).Mean / admm.NewRecords(e.file.Fleet.Records, 1).Mean
	if ratio == 1 {
		return
	}
	shared := p.PairSigma / p.Sigma // a power of two, so the division is exact
	p.Clip *= ratio * (1 - 0x1p-50) // rounding must not push the cost over the limit
	p.Sigma *= ratio
	p.PairSigma = shared * p.Sigma
	e.note("clip and noise follow the mean number of records: %.6g times what they were", ratio)
}

// numbers parses whole numbers of at least 1, separated by commas.
func numbers(text string) (all []int, err error) {
	for part := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(part)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("found %q, want whole numbers of at least 1, separated by commas", part)
		}
		all = append(all, n)
	}
	return all, nil
}
