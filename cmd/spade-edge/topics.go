package main

import (
	"compress/gzip"
	_ "embed" // the topics
	"fmt"
	"io"
	"strings"
	"sync"
)

// topicsZip holds the files of the folders topics, usage and completion, compressed: what "spade-edge help TOPIC" and
// "spade-edge COMMAND -h" print, and the scripts for shells. Each begins with a line that is its name, with its folder
// before it except for topics, and ends with a zero byte. "UPDATE=1 go test ./cmd/spade-edge -run
// TopicsAreThoseOfTheFolder" makes it of them, and the same test alone fails when it is not what they are.
//
//go:embed topics.gz
var topicsZip string

// topic is a help text. Its first line says what it is about.
type topic struct{ name, text string }

// These begin the names of texts that are no topics: the help of a command, and a shell's script.
const (
	usagePrefix      = "usage/"
	completionPrefix = "completion/"
)

// about returns the text above the flags in a command's help, examples included.
func (cmd *command) about() string { return text(usagePrefix + cmd.name) }

// text returns the text of a name, or nothing.
func text(name string) string {
	for _, t := range topics() {
		if t.name == name {
			return t.text
		}
	}
	return ""
}

// topics returns all texts: the topics in the order of their names, then the help of commands, then the scripts.
var topics = sync.OnceValue(func() (all []topic) {
	zip, err := gzip.NewReader(strings.NewReader(topicsZip))
	if err != nil {
		return nil // it is what the test has seen
	}
	text, _ := io.ReadAll(zip)
	for rest := string(text); rest != ""; {
		var one string
		one, rest, _ = strings.Cut(rest, "\x00")
		name, text, _ := strings.Cut(one, "\n")
		all = append(all, topic{name, text})
	}
	return all
})

// topicNames returns the topics in the order of their names, and what each is about.
func topicNames() (names, about []string) {
	for _, t := range topics() {
		if strings.Contains(t.name, "/") {
			continue
		}
		first, _, _ := strings.Cut(t.text, "\n")
		names = append(names, t.name)
		about = append(about, first)
	}
	return names, about
}

// helpTopic prints a topic, or the help of a command.
func helpTopic(name string, w io.Writer) error {
	if t := text(name); t != "" && !strings.Contains(name, "/") {
		_, err := io.WriteString(w, t)
		return err
	}
	for _, cmd := range commands {
		if cmd.name == name {
			_, err := fmt.Fprintf(w, "%s\n(spade-edge %s -h lists the flags)\n", cmd.about(), name)
			return err
		}
	}
	known, _ := topicNames()
	return usageError{fmt.Errorf("no topic %q; there are %s, and the commands %s", name, strings.Join(known, ", "),
		names())}
}
