package cli

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spade-dfl/spade-edge/sdk/monitor"
)

// Cmdline is one invocation of a command: its flags, arguments and output streams.
type Cmdline struct {
	*flag.FlagSet
	Program *Program
	Argv    []string
	Out     *bufio.Writer
	Log     io.Writer
	JSON    bool
	Given   map[string]bool // the flags on the command line; set by ParseArgs

	file string // set by ParseFile
}

// NewCmdline returns an invocation of the command with the given name and arguments. Its flag set prints nothing
// itself: [Cmdline.ParseArgs] returns all errors.
func NewCmdline(p *Program, name string, args []string, out, log io.Writer) *Cmdline {
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	c := &Cmdline{FlagSet: fs, Program: p, Argv: args, Out: bufio.NewWriter(out), Log: log}
	c.SetOutput(io.Discard)
	c.Usage = func() {}
	return c
}

// JSONFlag adds the flag -json.
func (c *Cmdline) JSONFlag() {
	c.BoolVar(&c.JSON, "json", false, "print one JSON object to standard output")
}

// ParseArgs parses the command line. If -h is given, ParseArgs prints the help and returns [flag.ErrHelp]. Any other
// error is a usage error.
func (c *Cmdline) ParseArgs() error {
	err := c.Parse(c.Argv)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(c.Out, c.help(c.Arg(0) == "all"))
		return err
	case err != nil:
		return AsUsageError(c.parseError(err))
	case c.NArg() > 0:
		return Usage("unexpected argument %q: every setting is a flag", c.Arg(0))
	}
	c.Given = make(map[string]bool)
	var faults Faults
	c.Visit(func(f *flag.Flag) {
		c.Given[f.Name] = true
		if value, ok := f.Value.(flag.Getter); ok { // not for a flag with a function
			text, ok := value.Get().(string)
			faults.When(ok && strings.TrimSpace(text) == "", "-%s is empty", f.Name)
		}
	})
	if err := faults.Usage(); err != nil {
		return err
	}
	return c.checkKinds()
}

// parseError names what a flag takes, in place of the "parse error" of package flag.
func (c *Cmdline) parseError(err error) error {
	text, unread := strings.CutSuffix(err.Error(), ": parse error")
	f := c.Lookup(text[strings.LastIndex(text, " -")+len(" -"):])
	if !unread || f == nil {
		return err
	}
	want := "a whole number"
	switch f.Value.(flag.Getter).Get().(type) {
	case time.Duration:
		want = "a duration with its unit, such as 90s or 15m"
	case float64:
		want = "a number"
	case bool:
		want = "true or false"
	}
	return fmt.Errorf("%s: want %s", text, want)
}

// BeginWith lists, for each command with many flags, the few flags that "-h" shows. "-h all" shows all flags.
var BeginWith = map[string][]string{
	"demo":     {"nodes", "graph", "unit", "epsilon", "non-private", "http", "json"},
	"simulate": {"data", "label", "nodes", "graph", "epsilon", "seeds"},
	"plan":     {"dim", "samples", "nodes", "graph", "epsilon", "rounds"},
	"fit":      {"data", "label", "onehot", "drop", "fitted-on", "out"},
	"init":     {"n", "members", "graph", "dim", "samples", "epsilon"},
}

// help returns the help text of a command. It describes only the command's flags in BeginWith, or every flag if the
// parameter all is true or BeginWith does not have the command.
func (c *Cmdline) help(all bool) string {
	var b strings.Builder
	fmt.Fprintln(&b, c.Program.about(c.Name()))
	first := BeginWith[c.Name()]
	var flags strings.Builder
	count := 0
	c.VisitAll(func(f *flag.Flag) {
		count++
		if all || first == nil || slices.Contains(first, f.Name) {
			kind, about := flag.UnquoteUsage(f)
			if !slices.Contains([]string{"", "0", "0s", "false"}, f.DefValue) {
				about += fmt.Sprintf(" (default %s)", f.DefValue)
			}
			fmt.Fprintf(&flags, "  -%s\n%s\n", strings.TrimSpace(f.Name+" "+kind), Wrapped("       ", "        ", strings.Fields(about), 80))
		}
	})
	if !all && first != nil {
		fmt.Fprintf(&b, "Common flags; \"%s %s -h all\" lists all %d:\n\n", c.Program.Name, c.Name(), count)
	}
	return b.String() + flags.String()
}

// ParseFile is like ParseArgs, but for a command that takes one file, either before or after its flags. It returns the
// path of the file.
func (c *Cmdline) ParseFile() (file string, err error) {
	if err := c.Parse(c.Argv); err == nil && c.NArg() > 0 {
		c.file, c.Argv = c.Arg(0), c.Args()[1:]
	}
	// Parse the flags after the file name. On an error, parse the whole command line again to get the error message.
	if err := c.ParseArgs(); err != nil {
		return "", err
	}
	if c.file == "" {
		usage, _, _ := strings.Cut(strings.TrimPrefix(c.Program.about(c.Name()), "usage: "), "\n")
		return "", Usage("no file given, want %s", usage)
	}
	return c.file, nil
}

// Print prints a result to standard output at once: as JSON if -json is given, otherwise by calling text.
func (c *Cmdline) Print(result any, text func(t Table)) error {
	if !c.JSON {
		text(Table{c.Out})
	} else if err := WriteObject(c.Out, result); err != nil {
		return err
	}
	return c.Out.Flush()
}

// Faults collects the errors of a command line.
type Faults []error

// Add adds an error. The arguments are as in [fmt.Errorf].
func (f *Faults) Add(format string, args ...any) { *f = append(*f, fmt.Errorf(format, args...)) }

// When adds an error if the parameter wrong is true.
func (f *Faults) When(wrong bool, format string, args ...any) {
	if wrong {
		f.Add(format, args...)
	}
}

// Usage combines all errors into one usage error. It returns nil if there are none.
func (f Faults) Usage() error {
	return AsUsageError(errors.Join(f...))
}

// CheckHTTP checks the address of a status page. It returns an error unless addr is empty or a loopback address.
func CheckHTTP(addr string) error {
	err := monitor.CheckAddress(addr)
	if addr == "" || err == nil {
		return nil
	}
	return Usage("-http: %w", err)
}

// Count returns how many of the values are true.
func Count(all ...bool) (n int) {
	for _, b := range all {
		if b {
			n++
		}
	}
	return n
}
