package cli

import (
	"context"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spade-dfl/spade-edge/sdk"
)

// Shells are those that there is a script for: the text completion/NAME. The scripts ask the program itself what can
// follow, see [complete].
var Shells = []string{"bash", "zsh", "fish"}

// Completion is the command that prints a script for a shell.
func Completion(_ context.Context, c *Cmdline) error {
	want := strings.Join(Shells, ", ")
	if len(c.Argv) == 0 {
		return AsUsageError(fmt.Errorf("no shell given, want %s", want))
	}
	name, err := c.ParseFile()
	if err != nil {
		return err
	}
	if !slices.Contains(Shells, name) {
		return AsUsageError(fmt.Errorf("no script for the shell %q, want %s", name, want))
	}
	_, err = io.WriteString(c.Out, c.Program.named(Text("completion/"+name)))
	return err
}

// FlagWords are the values that can be listed; behind those that end with a colon more follows. Flags with the same
// name mean the same in all commands. Those of a fleet's settings come from their table.
var FlagWords = map[string][]string{
	"data":      {"csv:", "idx:", "synthetic:clinical"},
	"graph":     {"ring", "complete", "star", "path", "grid:", "er:", "file:"},
	"log":       {"text", "json"},
	"model":     {"softmax", "perceptron"},
	"partition": {"iid", "dirichlet:", "pathological:"},
	"table":     {"dense", "seeded"},
}

// wordsOf returns the values of a flag that can be listed.
func wordsOf(name string) []string {
	for _, s := range sdk.Settings() {
		if s.Flag == name {
			return s.Names
		}
	}
	return FlagWords[name]
}

// complete prints what the last argument can be. A line is a word and, behind a tab, what it is about. The word /file
// or /folder stands for all such paths; behind the tab is what comes before the path in the argument.
func complete(args []string, w io.Writer) {
	line := func(word, about string) { fmt.Fprintf(w, "%s\t%s\n", word, about) }
	if len(args) < 2 {
		for _, cmd := range Commands {
			line(cmd.Name, cmd.Short)
		}
		line("help", "what a command or a topic is about")
		return
	}
	var flags []*flag.Flag
	var words []string
	place := ""
	if i := slices.Index(names(), args[0]); i >= 0 {
		flags = Commands[i].Registered()
	}
	switch usage, _, _ := strings.Cut(About(args[0]), "\n"); {
	case args[0] == "help":
		words = append(TopicNames(), names()...)
	case args[0] == "completion":
		words = Shells
	case args[0] == "fleet" && len(args) == 2:
		words = []string{"add", "remove", "rotate", "move", "next", "take"}
	case strings.Contains(usage, " DIR"):
		place = "/folder"
	case strings.Contains(usage, "NODEFILE") || strings.Contains(usage, " MODEL ") || strings.Contains(usage, " PATH"):
		place = "/file"
	}
	before, name, value := "", args[len(args)-2], args[len(args)-1]
	if strings.HasPrefix(value, "-") {
		var valued bool
		if name, value, valued = strings.Cut(value, "="); !valued {
			for _, f := range flags {
				_, about := flag.UnquoteUsage(f)
				line("-"+f.Name, about)
			}
			return
		}
		before, place, words = name+"=", "", nil
	}
	for _, f := range flags {
		kind, _ := flag.UnquoteUsage(f)
		if kind == "" || name != "-"+f.Name && name != "--"+f.Name { // a flag without a kind takes no value
			continue
		}
		place, words = "", wordsOf(f.Name)
		source, _, more := strings.Cut(value, ":")
		if more && words != nil && slices.Contains([]string{"csv", "idx", "file"}, source) {
			before, place, words = before+source+":", "/file", nil
		} else if kind == "file" {
			place = "/file"
		}
	}
	if place != "" {
		line(place, before)
	}
	for _, word := range words {
		line(before+word, "")
	}
}

// Registered returns the flags of a command: those that it has made when it is asked for its help.
func (cmd *Command) Registered() (all []*flag.Flag) {
	c := NewCmdline(&Program{Name: "spade-edge"}, cmd.Name, []string{"-h"}, io.Discard, io.Discard)
	c.Usage = func() { c.VisitAll(func(f *flag.Flag) { all = append(all, f) }) }
	_ = cmd.Run(context.Background(), c) // it ends with the help
	return all
}
