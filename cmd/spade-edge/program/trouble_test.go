//go:build unix

package program

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"

	"github.com/spade-dfl/spade-edge/sdk"
)

// goesOn stands for an exit code if a node reports something and continues.
const goesOn = -1

// bench is where tests provoke errors: a fleet of two without privacy, a private one, and one with a single private
// member.
type bench struct {
	plain, private, lone *trial
}

func newBench(t *testing.T) *bench {
	t.Helper()
	guarded := func(f *sdk.Fleet) { f.Privacy = sdk.Privacy{Clip: 0.2, Sigma: 1, Delta: 1e-5} }
	alone := func(f *sdk.Fleet) { f.Members, f.Edges = []string{"a"}, nil }
	return &bench{newTrial(t, "ab", nil), newTrial(t, "ab", guarded), newTrial(t, "a ", func(f *sdk.Fleet) { guarded(f); alone(f) })}
}

// variant writes a copy of a file with parts replaced, and returns its path.
func (tr *trial) variant(t *testing.T, name string, oldNew ...string) string {
	t.Helper()
	text := readFile(t, tr.path(name))
	for i := 0; i < len(oldNew); i += 2 {
		if !strings.Contains(text, oldNew[i]) {
			t.Fatalf("no %q in %s", oldNew[i], name)
		}
		text = strings.Replace(text, oldNew[i], oldNew[i+1], 1)
	}
	f, err := os.CreateTemp(tr.dir, "variant-*.json")
	if err == nil {
		_, err = f.WriteString(text)
	}
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	return f.Name()
}

func (tr *trial) oracle(t *testing.T, oracle string) string {
	t.Helper()
	text := readFile(t, tr.path("a.json"))
	return tr.variant(t, "a.json", text[strings.Index(text, `{"builtin"`):len(text)-1], oracle)
}

func (tr *trial) place(i int) string {
	return strings.TrimSuffix(strings.TrimPrefix(tr.file.Members[i].Addresses[0], "wss://"), "/")
}

// provocation makes the program print a message. It returns the exit code and the message.
type provocation func(t *testing.T, b *bench) (code int, text string)

var entryLine = regexp.MustCompile(`^  (\S.*)  \[(\d+|-)\]\n$`)

// Every entry of the topic is a sufficiently long part of a message that a provocation produces, with the entry's exit
// code, and every provocation has an entry.
func TestTroubleshooting(t *testing.T) {
	t.Parallel()
	_, topic, _ := call("help", "troubleshooting")
	entries := map[string]int{}
	title := ""
	for line := range strings.Lines(topic) {
		m := entryLine.FindStringSubmatch(line)
		switch {
		case m != nil:
			if _, twice := entries[m[1]]; twice {
				t.Errorf("%q is given twice", m[1])
			}
			code, err := strconv.Atoi(m[2])
			if err != nil {
				code = goesOn
			}
			entries[m[1]] = code
			title = m[1]
		case strings.HasPrefix(line, "  ") && line[2] != ' ':
			t.Errorf("%q stands where an entry should, and has no exit code", line)
		case strings.HasPrefix(line, "      "):
			title = ""
		case strings.TrimSpace(line) == "" && title != "":
			t.Errorf("%q has no cause and cure", title)
		}
	}
	provoked := map[string]string{} // by entry, the message
	for i, group := range []map[string]provocation{fileTroubles, linkTroubles, claimTroubles, stateTroubles, privacyTroubles, scorerTroubles,
		dataTroubles, pageTroubles} {
		entry := map[string]string{}
		for message := range group {
			title := entryOf(message, entries)
			if other := provoked[title]; title == "" || other != "" {
				t.Errorf("%q is provoked, and its entry is %q, as that of %q", message, title, other)
			}
			provoked[title], entry[message] = message, title
		}
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			for _, message := range slices.Sorted(maps.Keys(group)) {
				t.Run(message, func(t *testing.T) {
					code, text := group[message](t, b)
					if want := entries[entry[message]]; code != want || !says(text, message) || !says(text, entry[message]) {
						t.Errorf("exit code %d, want %d with %s\n%s", code, want, message, text)
					}
					plain(t, text)
				})
			}
		})
	}
	for title := range entries {
		if provoked[title] == "" {
			t.Errorf("nobody provokes %q", title)
		}
	}
}

// entryOf returns the longest entry that is part of a message, or "".
func entryOf(message string, entries map[string]int) (title string) {
	longest := 0
	for _, e := range slices.Sorted(maps.Keys(entries)) {
		if n := len(strings.ReplaceAll(e, "...", "")); says(message, e) && n > longest {
			title, longest = e, n
		}
	}
	return title
}

// says reports whether a line of text contains, in order, all parts of a message, in which three dots stand for
// variable text.
func says(text, message string) bool {
	var parts []string
	for _, part := range strings.Split(message, "...") {
		parts = append(parts, regexp.QuoteMeta(strings.TrimSpace(part)))
	}
	return regexp.MustCompile("(?m)" + strings.Join(parts, ".*")).MatchString(text)
}

var fileTroubles = map[string]provocation{
	"no command ...; the commands are ...": func(*testing.T, *bench) (int, string) { return said("rnu") },
	"flag provided but not defined: -...": func(t *testing.T, b *bench) (int, string) {
		return said("run", b.plain.path("a.json"), "-fast")
	},
	"unexpected argument ...: every setting is a flag": func(*testing.T, *bench) (int, string) { return said("demo", "fast") },
	"no file given, want ...":                          func(*testing.T, *bench) (int, string) { return said("run", "-json") },
	"a node file: ... no such file or directory": func(t *testing.T, b *bench) (int, string) {
		return said("run", b.plain.path("none.json"))
	},
	"a fleet file: ... no such file or directory": func(t *testing.T, b *bench) (int, string) {
		return said("run", b.plain.variant(t, "a.json", "fleet.json", "none.json"))
	},
	"...: line ..., column ...: ...": func(t *testing.T, b *bench) (int, string) {
		return said("run", b.plain.variant(t, "a.json", `"version": 1,`, `"version": 1`))
	},
	"version is ..., want 1, the version that this program reads": func(t *testing.T, b *bench) (int, string) {
		return said("run", b.plain.variant(t, "a.json", `"version": 1`, `"version": 2`))
	},
	"unknown field ...": func(t *testing.T, b *bench) (int, string) {
		return said("run", b.plain.variant(t, "a.json", `"version": 1`, `"version": 1, "color": "red"`))
	},
	"... is missing, want ...": func(t *testing.T, b *bench) (int, string) {
		return said("run", b.plain.variant(t, "a.json", `"state": "a.state",`, ``))
	},
	"... is ..., want a whole number, ...": func(t *testing.T, b *bench) (int, string) {
		return said("fleet", "move", b.plain.variant(t, "fleet.json", `"tau": 2`, `"tau": 0`), "-name", "a", "-address", "x:1")
	},
	"... is not a member of the fleet, which has ...": func(t *testing.T, b *bench) (int, string) {
		return said("run", b.plain.variant(t, "a.json", `"name": "a"`, `"name": "z"`))
	},
	"the node file has a gap: in \"oracle\", name what this node learns from, ...": func(t *testing.T, b *bench) (int, string) {
		dir := filepath.Join(t.TempDir(), "gap")
		if code, text := said("init", dir, "-n", "1", "-hosts", ownPort(), "-dim", "3", "-non-private"); code != cli.ExitDone {
			return code, text
		}
		return said("check", filepath.Join(dir, "node-0", "node.json"))
	},
	"... is not empty, and nothing is ever overwritten": func(t *testing.T, b *bench) (int, string) {
		return said("init", b.plain.dir, "-n", "2")
	},
	"... is not a line that keygen prints: ...": func(t *testing.T, b *bench) (int, string) {
		b.plain.write(t, "members.txt", "ward-1 10.0.0.1:7443\n")
		return said("init", b.plain.path("new"), "-members", b.plain.path("members.txt"), "-dim", "3")
	},
	"... already exists: -force overwrites it": func(t *testing.T, b *bench) (int, string) {
		b.done(t)
		return said("export", b.lone.path("a.json"), "-out", b.lone.path("a.json"))
	},
	"... already exists, want a name for a new file": func(t *testing.T, b *bench) (int, string) {
		return said("fit", "-data", "synthetic:clinical", "-fitted-on", "x", "-out", b.plain.path("a.json"))
	},
	"-graph ...: not connected: no path leads from ... to ...": func(t *testing.T, b *bench) (int, string) {
		b.plain.write(t, "apart.txt", "0 1\n2 3\n")
		return said("plan", "-nodes", "4", "-graph", "file:"+b.plain.path("apart.txt"))
	},
}

// done runs the single member to completion, once.
func (b *bench) done(t *testing.T) {
	t.Helper()
	if _, err := os.Stat(b.lone.path("a.state/certificate.json")); err == nil {
		return
	}
	if code, text := said("run", b.lone.path("a.json")); code != cli.ExitDone {
		t.Fatalf("exit code %d: %s", code, text)
	}
}
