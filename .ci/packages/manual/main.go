// Command manual generates the manual page spade-edge(1) from the program's help and prints it. Run it from the root of
// the module.
//
//	go run ./.ci/packages/manual v1.2.0 2026-01-01
package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
)

func main() {
	page, err := manual(os.Args[1:])
	if err == nil {
		_, err = os.Stdout.Write(page)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "manual:", err)
		os.Exit(1)
	}
}

func manual(args []string) ([]byte, error) {
	if len(args) != 2 {
		return nil, errors.New("want two arguments: a version and a date")
	}
	help, err := say("help")
	if err != nil {
		return nil, err
	}
	var page bytes.Buffer
	fmt.Fprintf(&page, ".TH SPADE-EDGE 1 %q %q %q\n", args[1], "spade-edge "+strings.TrimPrefix(args[0], "v"), "User Commands")
	fmt.Fprintf(&page, ".SH NAME\nspade\\-edge \\- train one shared model on many devices, without a server\n")
	fmt.Fprintf(&page, ".SH SYNOPSIS\n.B spade\\-edge\n.I command\n[\\fIflags\\fR]\n.SH DESCRIPTION\n")
	plain(&page, help)
	page.WriteString(".SH COMMANDS\n")
	commands := regexp.MustCompile(`(?m)^  spade-edge (\w+)`).FindAllStringSubmatch(help, -1)
	for _, c := range commands {
		about, err := say(c[1], "-h", "all")
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&page, ".SS %s\n", c[1])
		plain(&page, about)
		if c[1] != "fleet" {
			continue
		}
		for _, verb := range []string{"add", "remove", "next", "take", "show"} { // each has flags of its own
			flags, err := say("fleet", verb, "-h")
			if err != nil {
				return nil, err
			}
			fmt.Fprintf(&page, ".SS fleet %s\n", verb)
			plain(&page, strings.TrimPrefix(flags, about))
		}
	}
	codes, err := say("help", "exit-codes")
	if err != nil {
		return nil, err
	}
	page.WriteString(".SH EXIT STATUS\n")
	plain(&page, codes)
	page.WriteString(".SH FILES\n.TP\n.I /var/lib/spade\\-edge\nthe files of the node that the service runs: node.json and what it names\n")
	page.WriteString(".SH SEE ALSO\n.B spade\\-edge help\n.I topic\n")
	if len(commands) < 10 {
		return nil, fmt.Errorf("spade-edge help lists only %d commands, want at least 10: %s", len(commands), help)
	}
	return page.Bytes(), nil
}

func say(args ...string) (string, error) {
	cmd := exec.Command("go", append([]string{"run", "./cmd/spade-edge"}, args...)...)
	var log strings.Builder
	cmd.Stderr = &log
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("spade-edge %s: %w: %s", strings.Join(args, " "), err, log.String())
	}
	return string(out), nil
}

// plain writes text whose line breaks are preserved (no-fill mode; see man(7)).
func plain(page *bytes.Buffer, text string) {
	page.WriteString(".nf\n")
	for line := range strings.Lines(strings.ReplaceAll(strings.TrimSpace(text), "\t", "        ") + "\n") {
		line = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(line)
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			line = `\&` + line
		}
		page.WriteString(line)
	}
	page.WriteString(".fi\n")
}
