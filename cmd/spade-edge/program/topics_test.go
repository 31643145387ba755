package program

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
)

// texts is the folder of the texts that the program prints.
const texts = "../internal/cli"

// The embedded topics and help texts equal the files in the folders, byte for byte, and no file is unused.
func TestTopicsAreThoseOfTheFolder(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(texts, "topics", "*.txt")) // sorted
	if err != nil || len(files) < 8 {
		t.Fatalf("%d topics, %v", len(files), err)
	}
	for _, cmd := range cli.Commands {
		file := filepath.Join(texts, "usage", cmd.Name+".txt")
		if want := readFile(t, file); cli.About(cmd.Name) != want || !strings.HasPrefix(want, "usage: spade-edge "+cmd.Name) {
			t.Errorf("the help of %s is not %s", cmd.Name, file)
		}
	}
	if used, err := filepath.Glob(filepath.Join(texts, "usage", "*.txt")); err != nil || len(used) != len(cli.Commands) {
		t.Errorf("%d files of %d commands, %v", len(used), len(cli.Commands), err)
	}
	names := cli.TopicNames()
	_, list, _ := call("help")
	if len(names) != len(files) {
		t.Fatalf("topics %q of the files %q", names, files)
	}
	for i, file := range files {
		want := readFile(t, file)
		about, _, _ := strings.Cut(want, "\n")
		code, out, log := call("help", names[i])
		if code != cli.ExitDone || out != want || about == "" || !strings.Contains(list, " "+about+"\n") {
			t.Errorf("topic %q, about %q, is not %s (exit code %d, %s)", names[i], about, file, code, log)
		}
	}
}
