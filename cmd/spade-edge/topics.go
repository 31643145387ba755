package main

import (
	"embed"
	"fmt"
	"io"
	"path"
	"strings"
)

// topics holds what "spade-edge help TOPIC" prints: a file each, whose first line says what it is about.
//
//go:embed topics/*.txt
var topics embed.FS

// topicNames returns the topics in the order of their names, and what each is about.
func topicNames() (names, about []string) {
	entries, _ := topics.ReadDir("topics") // an embedded folder can always be read
	for _, e := range entries {
		text, _ := topics.ReadFile(path.Join("topics", e.Name()))
		first, _, _ := strings.Cut(string(text), "\n")
		names = append(names, strings.TrimSuffix(e.Name(), ".txt"))
		about = append(about, first)
	}
	return names, about
}

// helpTopic prints a topic, or the help of a command.
func helpTopic(name string, w io.Writer) error {
	if text, err := topics.ReadFile("topics/" + name + ".txt"); err == nil {
		_, err := w.Write(text)
		return err
	}
	for _, cmd := range commands {
		if cmd.name == name {
			_, err := fmt.Fprintf(w, "%s\n(spade-edge %s -h lists the flags)\n", cmd.about, name)
			return err
		}
	}
	known, _ := topicNames()
	return usageError{fmt.Errorf("no topic %q; there are %s, and the commands %s", name, strings.Join(known, ", "), names())}
}
