package program

import (
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The topics and the help of commands in the program are the files of the folders, to the byte.
func TestTopicsAreThoseOfTheFolder(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("topics", "*.txt")) // sorted
	if err != nil || len(files) < 8 {
		t.Fatalf("%d topics, %v", len(files), err)
	}
	var device, rest bytes.Buffer
	for _, file := range files {
		name, all := strings.TrimSuffix(filepath.Base(file), ".txt"), &device
		if slices.Contains(strings.Split(planning, ", "), name) {
			all = &rest
		}
		all.WriteString(name + "\n" + readFile(t, file) + "\x00")
	}
	for _, cmd := range commands {
		all := &device
		if operator[cmd.name] != nil {
			all = &rest
		}
		all.WriteString("usage/" + cmd.name + "\n" + readFile(t, filepath.Join("usage", cmd.name+".txt")) + "\x00")
	}
	for _, sh := range shells {
		rest.WriteString("completion/" + sh + "\n" + readFile(t, filepath.Join("completion", sh+".txt")) + "\x00")
	}
	rest.WriteString(noticesName + "\n" + readFile(t, "licenses.txt") + "\x00")
	if os.Getenv("UPDATE") != "" {
		for name, all := range map[string]*bytes.Buffer{"topics.gz": &device, "operator.gz": &rest} {
			var zip bytes.Buffer
			w, err := gzip.NewWriterLevel(&zip, gzip.BestCompression)
			if err == nil {
				_, err = w.Write(all.Bytes())
			}
			if err := errors.Join(err, w.Close(), os.WriteFile(name, zip.Bytes(), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		t.Skip("topics.gz and operator.gz are made anew: build the test again")
	}
	for _, cmd := range commands {
		file := filepath.Join("usage", cmd.name+".txt")
		if want := readFile(t, file); about(cmd.name) != want || !strings.HasPrefix(want, "usage: spade-edge "+cmd.name) {
			t.Errorf("the help of %s is not %s: run this test with UPDATE=1", cmd.name, file)
		}
	}
	if used, err := filepath.Glob(filepath.Join("usage", "*.txt")); err != nil || len(used) != len(commands) {
		t.Errorf("%d files of %d commands, %v", len(used), len(commands), err)
	}
	for _, sh := range shells {
		if file := filepath.Join("completion", sh+".txt"); text("completion/"+sh) != readFile(t, file) {
			t.Errorf("the script for %s is not %s: run this test with UPDATE=1", sh, file)
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
			t.Errorf("topic %q, about %q, is not %s: run this test with UPDATE=1 (exit code %d, %s)", names[i], about, file, code, log)
		}
	}
}
