package cli

import (
	"context"
	"embed"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
)

// texts has the texts that "spade-edge help TOPIC" and "spade-edge COMMAND -h" print, and the licenses of the linked
// packages. The first line of a topic is its summary.
//
//go:embed topics/*.txt usage/*.txt licenses.txt
var texts embed.FS

// text returns the text with the given folder and name, such as "topics/noise", or "" if it does not exist.
func text(name string) string {
	content, _ := texts.ReadFile(name + ".txt")
	return string(content)
}

// about returns the part of a command's help above the flags. It names the program p instead of spade-edge.
func (p *Program) about(command string) string {
	names := strings.NewReplacer("spade-edge-nats", "spade-edge-nats", "spade-edge-mqtt", "spade-edge-mqtt", "spade-edge", p.Name)
	return names.Replace(text("usage/" + command))
}

// TopicNames returns the names of all topics in alphabetical order.
func TopicNames() (names []string) {
	files, _ := texts.ReadDir("topics") // embedded: cannot fail
	for _, f := range files {
		names = append(names, strings.TrimSuffix(f.Name(), ".txt"))
	}
	return names
}

func (p *Program) helpTopic(name string, w io.Writer) (err error) {
	if slices.Contains(TopicNames(), name) {
		_, err = io.WriteString(w, text("topics/"+name))
	} else if t := p.about(name); t != "" {
		_, err = fmt.Fprintf(w, "%s\n(-h lists the flags)\n", t)
	} else {
		err = Usage("no topic or command is called %q; the topics are %s; the commands are %s", name,
			strings.Join(TopicNames(), ", "), strings.Join(names(), ", "))
	}
	return err
}

// Release is the version and commit of a release, such as "v1.2.0 0123456789ab". The linker sets it (.ci/release). If
// it is empty, Version uses Go's build information.
var Release string

// Version is the command that prints the version and the build information.
func Version(_ context.Context, c *Cmdline) error {
	licenses := c.Bool("licenses", false, "print the licences of everything in this program")
	if err := c.ParseArgs(); err != nil {
		return err
	}
	if *licenses {
		_, err := io.WriteString(c.Out, text("licenses")+c.Program.Licenses)
		return err
	}
	_, err := fmt.Fprintf(c.Out, "%s, %s, %s/%s\n", c.Program.Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}

// Version returns the name and version of the program.
func (p *Program) Version() string {
	stamp := Release
	if info, ok := debug.ReadBuildInfo(); ok && stamp == "" {
		revision := "unknown revision"
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				revision = s.Value
			}
		}
		stamp = info.Main.Version + ", " + revision
	}
	return p.Name + " " + stamp
}
