//go:build unix

package program

import (
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
)

var goesOnBelow = regexp.MustCompile(` \\\n +`)

// exampleLines returns the program's command lines in a text: indented, with nothing before them. A backslash at the
// end of a line continues it.
func exampleLines(text string) (all []string) {
	for line := range strings.Lines(goesOnBelow.ReplaceAllString(text, " ")) {
		if command := strings.TrimSpace(line); strings.HasPrefix(line, "  ") && strings.HasPrefix(command, "spade-edge ") {
			all = append(all, command)
		}
	}
	return all
}

// made finds the output of an example, which must not exist before.
var made = regexp.MustCompile(`(?:-out|-new-ledger|spade-edge init) (\S+)`)

// Every command line in the help of a command or topic runs verbatim if the files that it names exist. Without
// SPADE_LONG, a demo or simulation takes only a few rounds.
func TestExampleLines(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	lines := map[string][]string{} // by command; those that need the ports of live nodes are grouped
	seen := map[string]bool{}
	take := func(where, text string) int {
		found := exampleLines(text)
		for _, line := range found {
			command, _, _ := strings.Cut(line, " #") // ignore comments when comparing
			if command = strings.TrimSpace(command); !seen[command] {
				name := strings.Fields(line)[1]
				if slices.Contains([]string{"check", "run", "status", "stop"}, name) {
					name = "live"
				}
				lines[name] = append(lines[name], line)
			}
			seen[command] = true
		}
		return len(found)
	}
	for _, cmd := range cli.Commands {
		if take(cmd.Name, cli.About(cmd.Name)) == 0 {
			t.Errorf("%s: its help has no example", cmd.Name)
		}
	}
	names := cli.TopicNames()
	for _, name := range names {
		_, text, _ := call("help", name)
		take(name, text)
	}
	if len(seen) < 40 {
		t.Errorf("%d examples", len(seen))
	}
	for name, lines := range lines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, line := range lines {
				d.example(t, strings.Fields(line)[1], line)
			}
		})
	}
}

// example runs one line, with the node's neighbor and any node that it queries running, and stops it if it does not
// end. Commands that change no file share a folder; the lines of a command that only creates files share another.
func (d *desk) example(t *testing.T, name, line string) {
	t.Helper()
	if strings.Contains(line, "spade-edge run ") {
		name = "run"
	}
	dir := d.shared
	switch {
	case slices.Contains([]string{"check", "demo", "evaluate", "plan", "predict", "simulate", "version"}, name),
		name == "privacy" && !strings.Contains(line, "-new-ledger"), strings.Contains(line, "-dry-run"):
	case slices.Contains([]string{"export", "fit", "init", "keygen"}, name): // they only create files, with new names
		d.mu.Lock()
		if dir = d.own[name]; dir == "" {
			dir = d.sit(t, false)
			d.own[name] = dir
		}
		d.mu.Unlock()
	default:
		dir = d.sit(t, name == "run" || name == "status" || name == "stop")
	}
	for _, found := range made.FindAllStringSubmatch(line, -1) {
		for _, path := range []string{found[1], found[1] + ".mark"} {
			if err := os.RemoveAll(filepath.Join(dir, path)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if verb := strings.Fields(line)[1]; !long && (verb == "demo" || verb == "simulate") && !strings.Contains(line, "-rounds") {
		command, comment, _ := strings.Cut(line, " #")
		line = command + " -rounds 4 -cooldown 2 #" + comment
	}
	var other *process
	switch name {
	case "run":
		if strings.Contains(line, ":8080") && taken("127.0.0.1:8080") {
			t.Logf("left out, as the port is taken: %s", line)
			return
		}
		other = d.neighbor(t)
	case "status", "stop":
		other = start(t, "run", filepath.Join(dir, "node.json"))
		other.log.await(t, "waiting for")
	}
	switch {
	case strings.Contains(line, "demo -http"):
		command, _, _ := strings.Cut(line, "#")
		p := start(t, strings.Fields(strings.TrimPrefix(command, "spade-edge "))...)
		p.log.await(t, "the page stays until you interrupt")
		if err := p.cmd.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		p.wait(t, cli.ExitDone)
	default:
		if code, text := d.shell(t, dir, line); code != cli.ExitDone {
			t.Errorf("%s\nexit code %d: %s", line, code, text)
		}
	}
	switch {
	case name == "run":
		other.wait(t, cli.ExitDone)
	case name == "stop" && !strings.Contains(line, "-fleet"):
		other.wait(t, cli.ExitFailed)
	case other != nil:
		_ = other.cmd.Process.Kill()
		<-other.over
	}
}

func taken(address string) bool {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return true
	}
	l.Close()
	return false
}
