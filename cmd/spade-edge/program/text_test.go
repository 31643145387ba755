package program

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"

	"github.com/spade-dfl/spade-edge/sdk/monitor"
)

// texts is the folder with the texts that the program prints.
const texts = "../internal/cli"

// TestTexts checks that the program prints every help text and topic in the folder byte for byte, and that their lines
// fit a terminal of 80 columns. Lines with messages may be longer, so that users who search for a message find it on
// one line.
func TestTexts(t *testing.T) {
	shown := func(args ...string) string {
		t.Helper()
		code, out, log := call(args...)
		if code != cli.ExitDone || log != "" {
			t.Errorf("%v: exit code %d, %s", args, code, log)
		}
		for line := range strings.Lines(out) {
			message := args[len(args)-1] == "troubleshooting" && strings.HasSuffix(line, "]\n")
			if n := utf8.RuneCountInString(line) - 1; n > 80 && !message {
				t.Errorf("%v: a line of %d: %s", args, n, line)
			}
		}
		return out
	}
	usage, err := filepath.Glob(filepath.Join(texts, "usage", "*.txt"))
	if err != nil || len(usage) != len(cli.Commands) {
		t.Errorf("%d files of %d commands, %v", len(usage), len(cli.Commands), err)
	}
	for _, cmd := range cli.Commands {
		want := readFile(t, filepath.Join(texts, "usage", cmd.Name+".txt"))
		if !strings.HasPrefix(want, "usage: spade-edge "+cmd.Name) || !strings.Contains(want, "\n  spade-edge "+cmd.Name) {
			t.Errorf("%s: the text has no usage and example", cmd.Name)
		}
		few, all := shown(cmd.Name, "-h"), shown(cmd.Name, "-h", "all")
		if !strings.HasPrefix(few, want) || !strings.HasPrefix(all, want) {
			t.Errorf("%s -h does not begin with its text:\n%s", cmd.Name, few)
		}
		// The help for a command with many flags shows only a few of them, which must exist. "-h all" shows all flags.
		if flags := cli.BeginWith[cmd.Name]; flags != nil {
			if strings.Count(few, "\n  -") != len(flags)+strings.Count(want, "\n  -") || len(all) < 2*len(few)-len(want) {
				t.Errorf("%s:\n%s\n%s", cmd.Name, few, all)
			}
			for _, f := range flags {
				if !strings.Contains(few, "\n  -"+f+" ") && !strings.Contains(few, "\n  -"+f+"\n") {
					t.Errorf("%s: no -%s in\n%s", cmd.Name, f, few)
				}
			}
		}
	}
	topics, err := filepath.Glob(filepath.Join(texts, "topics", "*.txt")) // sorted
	names, list := cli.TopicNames(), shown("help")
	if err != nil || len(topics) < 8 || len(names) != len(topics) {
		t.Fatalf("topics %q of the files %q, %v", names, topics, err)
	}
	for i, file := range topics {
		want := readFile(t, file)
		about, _, _ := strings.Cut(want, "\n")
		if out := shown("help", names[i]); out != want || about == "" || !strings.Contains(list, " "+about+"\n") {
			t.Errorf("topic %q, about %q, is not %s", names[i], about, file)
		}
	}
}

// TestTopicIsComplete checks that "spade-edge help page" explains every metric and every field of a status.
func TestTopicIsComplete(t *testing.T) {
	_, topic, _ := call("help", "page")
	link := &monitor.Link{Fault: "f", Refusal: "r", Broker: true, Silent: true, Heard: 1}
	st := monitor.Status{
		NonPrivate: true, Fault: "f", Program: "p", Neighbors: []monitor.Neighbor{{Name: "b", Link: link}}, Local: &monitor.Local{},
		Privacy: &monitor.Privacy{Lifetime: &monitor.Lifetime{Against: []monitor.LifetimeAgainst{{}}}, Against: []monitor.Against{{}}}, Mixing: 1,
	}
	names := 0
	for line := range strings.Lines(string(monitor.Metrics(st))) {
		if rest, ok := strings.CutPrefix(line, "# TYPE spade_edge_"); ok {
			names++
			if name, _, _ := strings.Cut(rest, " "); !strings.Contains(topic, name) {
				t.Errorf("no metric %s in the topic", name)
			}
		}
	}
	if names < 25 {
		t.Errorf("%d metrics", names)
	}
	text, err := json.Marshal(st)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range strings.Split(string(text), `"`) {
		if strings.Trim(part, "abcdefghijklmnopqrstuvwxyz_") == "" && len(part) > 1 && part != "null" && !strings.Contains(topic, part) {
			t.Errorf("no field %s in the topic", part)
		}
	}
}
