package program

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spade-dfl/spade-edge/sdk/monitor"
)

// cmdline is one use of a command: its flags, and where its output goes.
type cmdline struct {
	*flag.FlagSet
	program  *Program
	name     string // of the command
	args     []string
	out, log io.Writer
	json     bool            // -json
	given    map[string]bool // the flags on the command line, once it is parsed

	failed func(text string) // if it is set, it is told why the command fails, in place of log

	show func(fs *flag.FlagSet) // if it is set, it is given the flags in place of the help
}

// newCmdline returns a call whose flags are silent on errors.
func newCmdline(p *Program, name string, args []string, out, log io.Writer) *cmdline {
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	c := &cmdline{FlagSet: fs, program: p, name: name, args: args, out: out, log: log}
	c.SetOutput(io.Discard)
	c.Usage = func() {}
	return c
}

// jsonFlag adds the flag -json. more is what it says besides.
func (c *cmdline) jsonFlag(more string) {
	c.BoolVar(&c.json, "json", c.json, "print one JSON object to standard output"+more)
}

// parse reads a command line. It prints the help on -h; every mistake is a usageError.
func (c *cmdline) parse() error {
	err := c.Parse(c.args)
	switch {
	case errors.Is(err, flag.ErrHelp) && c.show != nil:
		c.show(c.FlagSet)
		return err
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(c.out, c.help(c.Arg(0) == "all"))
		return err
	case err != nil:
		if _, name, unknown := strings.Cut(err.Error(), "not defined: -"); unknown {
			var all []string
			c.VisitAll(func(f *flag.Flag) { all = append(all, f.Name) })
			err = fmt.Errorf("%w%s", err, didYouMean(name, "-", all))
		}
		return asUsageError(err)
	case c.NArg() > 0:
		return asUsageError(fmt.Errorf("unexpected argument %q: every setting is a flag", c.Arg(0)))
	}
	c.given = make(map[string]bool)
	c.Visit(func(f *flag.Flag) { c.given[f.Name] = true })
	return nil
}

// beginWith are the flags that the help of commands with many of them shows; "-h all" shows all.
var beginWith = map[string][]string{
	"demo":     {"nodes", "graph", "epsilon", "non-private", "http", "json"},
	"simulate": {"data", "label", "nodes", "graph", "epsilon", "seeds"},
	"plan":     {"dim", "samples", "nodes", "graph", "epsilon", "rounds"},
	"fit":      {"data", "label", "onehot", "drop", "fitted-on", "out"},
	"init":     {"n", "members", "graph", "dim", "samples", "epsilon"},
}

// help is what a command is for, with its flags: those to begin with, if the command has such, or all.
func (c *cmdline) help(all bool) string {
	var b strings.Builder
	fmt.Fprintln(&b, c.program.about(c.name))
	first := beginWith[c.name]
	some := flag.NewFlagSet(c.name, flag.ContinueOnError)
	count := 0
	c.VisitAll(func(f *flag.Flag) {
		count++
		if all || first == nil || slices.Contains(first, f.Name) {
			some.Var(f.Value, f.Name, f.Usage)
			some.Lookup(f.Name).DefValue = f.DefValue
		}
	})
	some.SetOutput(&b)
	if !all && first != nil {
		fmt.Fprintf(&b, "Flags to begin with; \"%s %s -h all\" lists all %d:\n\n", c.program.Name, c.name, count)
	}
	some.PrintDefaults()
	return filled(b.String(), min(80, terminalWidth(c.out)))
}

// parseFile is parse for a command that takes one file, before or after its flags.
func (c *cmdline) parseFile() (file string, err error) {
	if err := c.Parse(c.args); err == nil && c.NArg() > 0 {
		file, c.args = c.Arg(0), c.Args()[1:]
	}
	// The rest; or, if something was wrong, all of it once more for the message.
	if err := c.parse(); err != nil {
		return "", err
	}
	if file == "" {
		usage, _, _ := strings.Cut(strings.TrimPrefix(c.program.about(c.name), "usage: "), "\n")
		return "", asUsageError(fmt.Errorf("no file given, want %s", usage))
	}
	return file, nil
}

// print prints a result: as JSON if that is asked for, and else for people.
func (c *cmdline) print(result any, text func(t table)) error {
	if c.json {
		return writeObject(c.out, result)
	}
	text(table{c.out})
	return nil
}

// faults are what is wrong with a command line.
type faults []error

func (f *faults) add(format string, args ...any) { *f = append(*f, fmt.Errorf(format, args...)) }

func (f *faults) when(wrong bool, format string, args ...any) {
	if wrong {
		f.add(format, args...)
	}
}

// usage returns all faults as one usageError, or nil.
func (f faults) usage() error {
	if err := errors.Join(f...); err != nil {
		return asUsageError(err)
	}
	return nil
}

// empty reports given flags with an empty value. named are names, each with its value.
func (f *faults) empty(given map[string]bool, named ...string) {
	for pair := range slices.Chunk(named, 2) {
		f.when(given[pair[0]] && strings.TrimSpace(pair[1]) == "", "-%s is empty", pair[0])
	}
}

func checkHTTP(addr string) error {
	if addr == "" {
		return nil
	}
	if err := monitor.CheckAddress(addr); err != nil {
		return asUsageError(fmt.Errorf("-http: %w", err))
	}
	return nil
}
