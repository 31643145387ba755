// Command words finds words that the project avoids: private terms for which the field has its own, archaisms and
// riddles. It checks comments and strings of Go files, and whole .md, .txt and .sh files.
//
//	go run ./.ci/words            prints the places that have such words, and fails if there are any
//
// For a reader who judges how the text reads, it draws at random from all Go files that are not generated:
//
//	go run ./.ci/words -draw 100 -seed 7    prints 100 comments and 50 messages, each with its file and line
package main

import (
	_ "embed"
	"flag"
	"fmt"
	"go/scanner"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// skipped matches files that words does not check: data, copies, and files about these words.
var skipped = regexp.MustCompile(`^\.ci/words/|licenses\.txt$|testdata/|^examples/paper/results/|^\.ci/bench/results\.md$`)

// rule is a case-insensitive pattern to avoid, with better words.
type rule struct {
	avoid   *regexp.Regexp
	instead string
}

//go:embed rules.txt
var rulesText string

// rules are the rules in rules.txt. Each line has a pattern, a tab and better words; "#" begins a comment.
var rules = func() (all []rule) {
	for line := range strings.Lines(rulesText) {
		if avoid, instead, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok && line[0] != '#' {
			all = append(all, rule{regexp.MustCompile(`(?i)` + strings.ReplaceAll(avoid, " ", `\s+`)), strings.TrimSpace(instead)})
		}
	}
	return all
}()

func main() {
	n := flag.Int("draw", 0, "only print `n` random comments and half as many random messages")
	seed := flag.Uint64("seed", 1, "seed of -draw")
	flag.Parse()
	out, err := exec.Command("git", "ls-files", "-co", "--exclude-standard").Output()
	if err != nil {
		fail("git ls-files: %v", err)
	}
	found := 0
	var comments, messages []string
	for _, path := range strings.Fields(string(out)) {
		if skipped.MatchString(path) || !slices.Contains([]string{".go", ".md", ".txt", ".sh"}, filepath.Ext(path)) {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			continue // deleted, but the deletion is not committed yet
		}
		if *n > 0 {
			c, m := find(path, string(text))
			comments, messages = append(comments, c...), append(messages, m...)
			continue
		}
		for _, h := range check(path, text) {
			fmt.Println(h)
			found++
		}
	}
	if *n > 0 {
		for _, text := range append(draw(comments, *n, *seed), draw(messages, *n/2, *seed)...) {
			fmt.Println(text)
		}
		return
	}
	if found > 0 {
		fail("%d places have words to avoid", found)
	}
}

// check returns a line of output for each match of a rule in a file.
func check(path string, text []byte) (hits []string) {
	for _, part := range parts(path, text) {
		for _, r := range rules {
			for _, at := range r.avoid.FindAllStringIndex(part.text, -1) {
				line := part.line + strings.Count(part.text[:at[0]], "\n")
				hits = append(hits, fmt.Sprintf("%s:%d: %q: %s", path, line, part.text[at[0]:at[1]], r.instead))
			}
		}
	}
	return hits
}

// part is a text in a file that a reader sees, with the line number at which it begins.
type part struct {
	text string
	line int
}

// parts returns the parts of a file. For a Go file these are strings, and comments with adjacent lines together; for
// another file it is the whole text.
func parts(path string, text []byte) (all []part) {
	if filepath.Ext(path) != ".go" {
		return []part{{string(text), 1}}
	}
	files := token.NewFileSet()
	var s scanner.Scanner
	file := files.AddFile(path, files.Base(), len(text))
	s.Init(file, text, nil, scanner.ScanComments)
	for comment := false; ; {
		pos, tok, literal := s.Scan()
		switch tok {
		case token.EOF:
			return all
		case token.COMMENT:
			line := files.Position(pos).Line
			if comment && line == all[len(all)-1].line+1+strings.Count(all[len(all)-1].text, "\n") {
				all[len(all)-1].text += "\n" + strings.TrimPrefix(literal, "//")
			} else {
				all = append(all, part{strings.TrimPrefix(literal, "//"), line})
			}
			comment = true
		case token.STRING:
			all = append(all, part{literal, files.Position(pos).Line})
			comment = false
		default:
			comment = comment && tok == token.SEMICOLON && literal == "\n"
		}
	}
}

func fail(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "words: "+format+"\n", args...)
	os.Exit(1)
}
