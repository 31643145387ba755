package program

import (
	"path/filepath"
	"strings"
	"testing"
)

// The topics and the help of commands in the program are the files of the folders, to the byte, and no file is left over.
func TestTopicsAreThoseOfTheFolder(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("topics", "*.txt")) // sorted
	if err != nil || len(files) < 8 {
		t.Fatalf("%d topics, %v", len(files), err)
	}
	for _, cmd := range commands {
		file := filepath.Join("usage", cmd.name+".txt")
		if want := readFile(t, file); about(cmd.name) != want || !strings.HasPrefix(want, "usage: spade-edge "+cmd.name) {
			t.Errorf("the help of %s is not %s", cmd.name, file)
		}
	}
	if used, err := filepath.Glob(filepath.Join("usage", "*.txt")); err != nil || len(used) != len(commands) {
		t.Errorf("%d files of %d commands, %v", len(used), len(commands), err)
	}
	for _, sh := range shells {
		if file := filepath.Join("completion", sh+".txt"); text("completion/"+sh) != readFile(t, file) {
			t.Errorf("the script for %s is not %s", sh, file)
		}
	}
	names := topicNames()
	_, list, _ := call("help")
	if len(names) != len(files) {
		t.Fatalf("topics %q of the files %q", names, files)
	}
	for i, file := range files {
		want := readFile(t, file)
		about, _, _ := strings.Cut(want, "\n")
		code, out, log := call("help", names[i])
		if code != exitDone || out != want || about == "" || !strings.Contains(list, " "+about+"\n") {
			t.Errorf("topic %q, about %q, is not %s (exit code %d, %s)", names[i], about, file, code, log)
		}
	}
}
