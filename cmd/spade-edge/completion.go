package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
)

// shells are those that there is a script for. The text completion/NAME is the script but for
// {{names}} and {{commands}}, which write makes, and {{paths}}.
var shells = []struct {
	name  string
	write func(all []completable) (names, commands string)
}{
	{"bash", bashCommands}, {"zsh", zshCommands}, {"fish", fishCommands},
}

func completion(_ context.Context, c *cmdline) error {
	var names []string
	for _, sh := range shells {
		names = append(names, sh.name)
	}
	want := strings.Join(names, ", ")
	if len(c.args) == 0 {
		return usageError{fmt.Errorf("no shell given, want %s", want)}
	}
	name, err := c.parseFile()
	if err != nil {
		return err
	}
	i := slices.Index(names, name)
	if i < 0 {
		return usageError{fmt.Errorf("no script for the shell %q, want %s", name, want)}
	}
	first, rest := shells[i].write(completables(names))
	script := strings.NewReplacer("{{names}}", first, "{{commands}}", rest, "{{paths}}", pathWords)
	_, err = io.WriteString(c.out, script.Replace(text("completion/"+name)))
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

// free says that any value can follow.
func (f flagWord) free() bool { return !f.alone && !f.file && f.words == nil }

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
			b, ok := f.Value.(interface{ IsBoolFlag() bool })
			alone := ok && b.IsBoolFlag()
			c.flags = append(c.flags, flagWord{f.Name, about, alone, kind == "file", flagWords[f.Name]})
		}
		usage, _, _ := strings.Cut(about(cmd.name), "\n")
		switch {
		case strings.Contains(usage, " DIR"):
			c.place = "folder"
		case strings.Contains(usage, "NODEFILE") || strings.Contains(usage, " PATH"):
			c.place = "file"
		case cmd.name == "completion":
			c.words = shells
		}
		all = append(all, c)
		names = append(names, cmd.name)
	}
	names = append(topicNames(), names...)
	return append(all, completable{name: "help", short: "what a command or a topic is about", words: names})
}

// registered returns the flags of a command: those that it has made when it is asked for its help.
func (cmd *command) registered() (all []*flag.Flag) {
	c := newCmdline(cmd.name, []string{"-h"}, io.Discard, io.Discard)
	c.show = func(fs *flag.FlagSet) { fs.VisitAll(func(f *flag.Flag) { all = append(all, f) }) }
	_ = cmd.run(context.Background(), c) // it ends with the help
	return all
}

// script is lines of a shell's script in the making.
type script struct{ b strings.Builder }

func (w *script) line(format string, args ...any) { fmt.Fprintf(&w.b, format+"\n", args...) }

// literal puts a text between single quotes, in a form that all three shells take.
func literal(s string) string { return "'" + strings.ReplaceAll(s, "'", `'"'"'`) + "'" }

// flagList joins the names of the flags that ok picks, each behind a dash.
func (c completable) flagList(sep string, ok func(f flagWord) bool) string {
	var all []string
	for _, f := range c.flags {
		if ok(f) {
			all = append(all, "-"+f.name)
		}
	}
	return strings.Join(all, sep)
}

// bashCommands returns a case for each command. The function around them looks at the line itself: for bash, a colon or
// an equals sign begins a new word.
func bashCommands(all []completable) (names, commands string) {
	var w script
	var each []string
	for _, c := range all {
		each = append(each, c.name)
		w.line("\t%s)", c.name)
		w.line("\t\tflags=%s", literal(c.flagList(" ", func(flagWord) bool { return true })))
		w.line("\t\tplace=%s values=%s", literal(c.place), literal(strings.Join(c.words, " ")))
		if len(c.flags) > 0 {
			w.line("\t\tcase $flag in")
			for _, f := range c.flags {
				if f.words != nil {
					w.line("\t\t-%s) flags= place= values=%s ;;", f.name, literal(strings.Join(f.words, " ")))
				}
			}
			if files := c.flagList("|", func(f flagWord) bool { return f.file }); files != "" {
				w.line("\t\t%s) flags= place=file values= ;;", files)
			}
			if others := c.flagList("|", flagWord.free); others != "" {
				w.line("\t\t%s) return ;;", others)
			}
			w.line("\t\tesac")
		}
		w.line("\t\t;;")
	}
	return literal(strings.Join(each, " ")), w.b.String()
}

// zshCommands returns what each command is about, and a case for each.
func zshCommands(all []completable) (names, commands string) {
	var about, w script
	escape := strings.NewReplacer(`\`, `\\`, `[`, `\[`, `]`, `\]`, `:`, `\:`).Replace
	for _, c := range all {
		about.line("\t\t\t%s", literal(c.name+":"+c.short))
		w.line("\t%s)\n\t\t_arguments \\", c.name)
		for _, f := range c.flags {
			spec := "-" + f.name
			if f.alone {
				spec += "[" + escape(f.about) + "]"
			} else {
				spec += "=[" + escape(f.about) + "]:value:"
				switch {
				case f.words != nil:
					spec += " _spade_edge_words " + escape(strings.Join(f.words, " "))
				case f.file:
					spec += "_files"
				default:
					spec += " "
				}
			}
			w.line("\t\t\t%s \\", literal(spec))
		}
		switch {
		case c.words != nil:
			w.line("\t\t\t%s ;;", literal("1:word:("+strings.Join(c.words, " ")+")"))
		case c.place == "folder":
			w.line("\t\t\t'1:folder:_files -/' ;;")
		case c.place == "file":
			w.line("\t\t\t'1:file:_files' ;;")
		default:
			w.line("\t\t\t&& return ;;")
		}
	}
	return about.b.String(), w.b.String()
}

// fishCommands returns a rule for each command and flag.
func fishCommands(all []completable) (names, commands string) {
	var w script
	for _, c := range all {
		w.line("complete -c spade-edge -n __spade_edge_first -a %s -d %s", c.name, literal(c.short))
	}
	for _, c := range all {
		in := literal("__spade_edge_in " + c.name)
		for _, f := range c.flags {
			rest := ""
			switch {
			case f.words != nil:
				rest = " -x -a " + literal("(__spade_edge_words "+strings.Join(f.words, " ")+")")
			case f.file:
				rest = " -r -F"
			case !f.alone:
				rest = " -x"
			}
			w.line("complete -c spade-edge -n %s -o %s%s -d %s", in, f.name, rest, literal(f.about))
		}
		switch {
		case c.words != nil:
			w.line("complete -c spade-edge -n %s -a %s", in, literal(strings.Join(c.words, " ")))
		case c.place == "folder":
			w.line("complete -c spade-edge -n %s -a '(__fish_complete_directories (commandline -ct))'", in)
		case c.place == "file":
			w.line("complete -c spade-edge -n %s -F", in)
		}
	}
	return "", w.b.String()
}
