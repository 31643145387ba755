package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
)

var completionCommand = &command{
	name:  "completion",
	short: "completion of commands, flags and files for a shell",
}

func init() { // completion looks at all commands, and is one of them
	completionCommand.run = completion
}

// shells are those that there is a script for.
var shells = []struct {
	name  string
	write func(w *script, all []completable)
}{
	{"bash", (*script).bash}, {"zsh", (*script).zsh}, {"fish", (*script).fish},
}

func completion(_ context.Context, cmd *command, args []string, out, _ io.Writer) error {
	var names []string
	for _, sh := range shells {
		names = append(names, sh.name)
	}
	want := strings.Join(names, ", ")
	if len(args) == 0 {
		return usageError{fmt.Errorf("no shell given, want %s", want)}
	}
	name, err := cmd.parseFile(cmd.flags(), args, out)
	if err != nil {
		return err
	}
	i := slices.Index(names, name)
	if i < 0 {
		return usageError{fmt.Errorf("no script for the shell %q, want %s", name, want)}
	}
	var w script
	shells[i].write(&w, completables(names))
	_, err = io.WriteString(out, w.String())
	return err
}

// completable is what a shell can complete of a command.
type completable struct {
	name, short string
	flags       []flagWord
	place       string   // what stands beside the flags: "file", "folder" or nothing
	words       []string // that can stand there
}

// flagWord is a flag as a shell sees it.
type flagWord struct {
	name, about string
	alone       bool     // no value follows
	file        bool     // the value is a file's name
	words       []string // that the value can be; those that end with a colon go on
}

// flagWords are the values that can be listed. Flags with the same name mean the same in all commands.
var flagWords = map[string][]string{
	"accounting": {"gdp", "zcdp", "paper"},
	"data":       {"csv:", "idx:", "synthetic:clinical"},
	"directions": {"rademacher", "sphere"},
	"estimator":  {"paper", "centered"},
	"format":     {"npy", "raw", "json"},
	"graph":      {"ring", "complete", "star", "path", "grid:", "er:", "file:"},
	"model":      {"softmax", "perceptron"},
	"partition":  {"iid", "dirichlet:", "pathological:"},
	"payload":    {"message", "release"},
	"table":      {"dense", "seeded"},
}

// pathWords are the beginnings of values behind which a path follows.
const pathWords = "csv|idx|file"

// completables returns all commands, help and its topics among them.
func completables(shells []string) []completable {
	var all []completable
	var names []string
	for _, cmd := range commands {
		c := completable{name: cmd.name, short: cmd.short}
		for _, f := range cmd.registered() {
			kind, about := flag.UnquoteUsage(f)
			alone := false
			if b, ok := f.Value.(interface{ IsBoolFlag() bool }); ok {
				alone = b.IsBoolFlag()
			}
			c.flags = append(c.flags, flagWord{f.Name, about, alone, kind == "file", flagWords[f.Name]})
		}
		usage, _, _ := strings.Cut(cmd.about(), "\n")
		switch {
		case strings.Contains(usage, " DIR"):
			c.place = "folder"
		case strings.Contains(usage, "NODEFILE") || strings.Contains(usage, " PATH"):
			c.place = "file"
		case cmd == completionCommand:
			c.words = shells
		}
		all = append(all, c)
		names = append(names, cmd.name)
	}
	topics, _ := topicNames()
	return append(all, completable{name: "help", short: "what a command or a topic is about", words: append(topics, names...)})
}

// registered returns the flags of a command: those that it has made when it is asked for its help.
func (cmd *command) registered() (all []*flag.Flag) {
	asked := *cmd
	asked.show = func(fs *flag.FlagSet) { fs.VisitAll(func(f *flag.Flag) { all = append(all, f) }) }
	_ = cmd.run(context.Background(), &asked, []string{"-h"}, io.Discard, io.Discard) // it ends with the help
	return all
}
