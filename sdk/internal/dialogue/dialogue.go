package dialogue

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Lines is the text of a dialogue so far: its commands and their output. Commands may also change it.
type Lines []string

// Say prints output, of one line or several.
func (l *Lines) Say(format string, args ...any) {
	*l = append(*l, strings.Split(fmt.Sprintf(format, args...), "\n")...)
}

// Run runs the dialogues in the files that match a pattern, and compares what they print with the text. begin is called
// for each file and returns the function that executes a command, given as words. If update is set, Run writes the
// files anew instead.
func Run(t *testing.T, pattern string, update bool, begin func(t *testing.T, out *Lines) (do func(words []string))) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files match %s, %v", len(files), pattern, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			want := strings.Split(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n")
			got := play(want, func(out *Lines) func([]string) { return begin(t, out) })
			if update {
				if err := os.WriteFile(file, []byte(strings.Join(got, "\n")), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			got, want = append(got, "end of the dialogue"), append(want, "end of the dialogue")
			for i := range got {
				if i == len(want) || got[i] != want[i] {
					t.Fatalf("line %d prints\n\t%s\nwant\n\t%s", i+1, got[i], want[min(i, len(want)-1)])
				}
			}
		})
	}
}

// play executes the commands in a text and returns it with what they print now.
func play(text []string, begin func(out *Lines) func([]string)) Lines {
	var out Lines
	do, output := begin(&out), false
	for _, line := range text {
		if output = output && line != ""; output {
			continue
		}
		if out.Say("%s", line); line != "" && line[0] != '#' {
			out.Say("----")
			for command := range strings.SplitSeq(line, ", ") {
				do(strings.Fields(command))
			}
			output = true
		}
	}
	return out
}
