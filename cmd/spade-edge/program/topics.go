package program

import (
	"compress/gzip"
	"context"
	_ "embed" // the topics
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
)

// topicsZip and operatorZip hold the files of the folders topics, usage and completion, compressed: what "spade-edge help
// TOPIC" and "spade-edge COMMAND -h" print, and the scripts for shells. A board is without the second one. Each text
// begins with a line that is its name, with its folder before it except for topics, and ends with a zero byte. "UPDATE=1
// go test ./cmd/spade-edge/program -run TopicsAreThoseOfTheFolder" makes them of the files, and the same test alone
// fails when they are not what these are.
//
//go:embed topics.gz
var topicsZip string

// planning are the topics of operatorZip.
const planning = "fleets, models, noise"

// topic is a help text. Its first line says what it is about.
type topic struct{ name, text string }

// about returns the text above the flags in a command's help, examples included.
func about(command string) string { return text("usage/" + command) }

func (p *Program) about(command string) string { return p.named(about(command)) }

// named puts the program's name in the place of that which a text calls a program by.
func (p *Program) named(text string) string {
	return strings.NewReplacer("spade-edge-nats", "spade-edge-nats", "spade-edge", p.Name).Replace(text)
}

func text(name string) string {
	i := slices.IndexFunc(topics(), func(t topic) bool { return t.name == name })
	if i < 0 {
		return ""
	}
	return topics()[i].text
}

// topics returns all texts.
var topics = sync.OnceValue(func() (all []topic) {
	for _, packed := range []string{topicsZip, operatorZip} {
		zip, err := gzip.NewReader(strings.NewReader(packed))
		if err != nil {
			continue // a board has one of the two, and what is there is what the test has seen
		}
		text, _ := io.ReadAll(zip)
		for rest := string(text); rest != ""; {
			var one string
			one, rest, _ = strings.Cut(rest, "\x00")
			name, text, _ := strings.Cut(one, "\n")
			all = append(all, topic{name, text})
		}
	}
	return all
})

// topicNames returns the topics in the order of their names.
func topicNames() (names []string) {
	for _, t := range topics() {
		if !strings.Contains(t.name, "/") {
			names = append(names, t.name)
		}
	}
	slices.Sort(names)
	return names
}

func (p *Program) helpTopic(name string, w io.Writer) (err error) {
	if slices.Contains(topicNames(), name) {
		_, err = io.WriteString(w, text(name))
	} else if t := p.about(name); t != "" {
		_, err = fmt.Fprintf(w, "%s\n(%s %s -h lists the flags)\n", filled(t, min(80, terminalWidth(w))), p.Name, name)
	} else if operatorZip == "" && slices.Contains(append(names(), strings.Split(planning, ", ")...), name) {
		return elsewhere(context.Background(), nil)
	} else {
		err = usageError{fmt.Errorf("no topic %q; there are %s, and the commands %s%s", name,
			strings.Join(topicNames(), ", "), strings.Join(names(), ", "), didYouMean(name, "", append(topicNames(), names()...)))}
	}
	return err
}
