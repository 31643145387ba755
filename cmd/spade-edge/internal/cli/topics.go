package cli

import (
	"embed"
	"fmt"
	"io"
	"slices"
	"strings"
)

// texts holds what "spade-edge help TOPIC" and "spade-edge COMMAND -h" print, and the scripts for shells. The first line
// of a topic says what it is about.
//
//go:embed topics/*.txt usage/*.txt completion/*.txt
var texts embed.FS

// About returns the text above the flags in a command's help, examples included.
func About(command string) string { return Text("usage/" + command) }

func (p *Program) about(command string) string { return p.named(About(command)) }

// named puts the program's name in the place of that which a text calls a program by.
func (p *Program) named(text string) string {
	return strings.NewReplacer("spade-edge-nats", "spade-edge-nats", "spade-edge", p.Name).Replace(text)
}

// Text returns a text by its folder and name, such as "topics/noise"; empty if there is none.
func Text(name string) string {
	content, err := texts.ReadFile(name + ".txt")
	if err != nil {
		return ""
	}
	return string(content)
}

// TopicNames returns the topics in the order of their names.
func TopicNames() (names []string) {
	files, err := texts.ReadDir("topics")
	if err != nil {
		return nil // the folder is in the program: a test lists it
	}
	for _, f := range files {
		names = append(names, strings.TrimSuffix(f.Name(), ".txt"))
	}
	return names
}

func (p *Program) helpTopic(name string, w io.Writer) (err error) {
	if slices.Contains(TopicNames(), name) {
		_, err = io.WriteString(w, Text("topics/"+name))
	} else if t := p.about(name); t != "" {
		_, err = fmt.Fprintf(w, "%s\n(%s %s -h lists the flags)\n", t, p.Name, name)
	} else {
		err = AsUsageError(fmt.Errorf("no topic %q; there are %s, and the commands %s%s", name,
			strings.Join(TopicNames(), ", "), strings.Join(names(), ", "), didYouMean(name, "", append(TopicNames(), names()...))))
	}
	return err
}
