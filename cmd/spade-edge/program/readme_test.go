//go:build unix

package program

import (
	"fmt"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
)

func readmeBlocks(t *testing.T) (all []string) {
	t.Helper()
	_, rest, found := strings.Cut(readFile(t, "../../../README.md"), "\n```sh\n")
	for found {
		var block string
		block, rest, _ = strings.Cut(rest, "```\n")
		all = append(all, block)
		_, rest, found = strings.Cut(rest, "\n```sh\n")
	}
	return all
}

// The README's steps to a model work verbatim: every line succeeds and prints what it should.
func TestReadmeFleet(t *testing.T) {
	blocks := readmeBlocks(t)
	if len(blocks) != 1 || strings.Count(blocks[0], "\n") > 6 {
		t.Fatalf("%q", blocks)
	}
	for i := range 6 {
		if address := fmt.Sprintf("127.0.0.1:%d", 7443+i); taken(address) {
			t.Skipf("%s is taken, and stands in the README", address)
		}
	}
	d := newDesk(t)
	dir := t.TempDir()
	code, text := d.shell(t, dir, "set -e\n"+blocks[0])
	for _, want := range []string{
		"next           for each node: spade-edge check trial/node-0/node.json", // init
		"has spent epsilon 0.00 against everybody else together in 0 releases",  // check
		"release        50 of 50 of run \"trial\" by \"node-0\"",                // export
		"model.npy: OK",                 // sha256sum
		"verified: signed with the key", // privacy
		"countersigned by \"node-1\", \"node-2\", ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if code != cli.ExitDone || strings.Contains(text, "spade-edge run: ") {
		t.Errorf("exit code %d:\n%s", code, text)
	}
	if found := tree(t, dir); !strings.Contains(found, "model.npy.certificate.json") {
		t.Errorf("made %s", found)
	}
}

// The README's other command lines run too, if the files that they name exist.
func TestReadmeLines(t *testing.T) {
	d := newDesk(t)
	text := readFile(t, "../../../README.md")
	text = strings.Replace(text, readmeBlocks(t)[0], "", 1)
	lines := 0
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "spade-edge ") {
			lines++
			d.example(t, strings.Fields(line)[1], strings.TrimSpace(line))
		}
	}
	if lines < 4 {
		t.Errorf("%d lines", lines)
	}
}
