// Command readmes runs the command blocks of every README, in an empty clone of the committed checkout.
//
//	go run ./.ci/readmes           all of them, in a few minutes
//	go run ./.ci/readmes 2/4       every fourth README, starting with the second, as .ci/run does with a part that depends on the commit
//	go run ./.ci/readmes -slow     also the commands that take minutes
//	go run ./.ci/readmes -list     only says what would run, and what is skipped and why
//
// Run it from the root of the module. A block runs in the folder of its README, or in the root if it names a path of the
// root. The programs are in the PATH. table.go has the commands that are skipped, and what others need beforehand.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

func main() {
	slow := flag.Bool("slow", false, "also run the commands that take minutes")
	list := flag.Bool("list", false, "run nothing")
	flag.Parse()
	part, parts := 1, 1
	if flag.NArg() > 0 {
		if _, err := fmt.Sscanf(flag.Arg(0), "%d/%d", &part, &parts); err != nil || part < 1 || part > parts {
			fmt.Fprintf(os.Stderr, "readmes: %q is not a part such as 2/4\n", flag.Arg(0))
			os.Exit(2)
		}
	}
	dir, err := os.MkdirTemp("", "readmes")
	if err == nil {
		err = run(dir, part, parts, *slow, *list)
		_ = os.RemoveAll(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "readmes:", err)
		os.Exit(1)
	}
}

func run(dir string, part, parts int, slow, list bool) error {
	here, err := os.Getwd()
	if err != nil {
		return err
	}
	text, err := exec.Command("git", "ls-files", "*README.md").Output()
	if err != nil {
		return err
	}
	root := filepath.Join(dir, "spade-edge")
	if !list {
		prepare := fmt.Sprintf("git clone -q . %s && cd %[1]s && go build -o %s/bin/ ./cmd/spade-edge && cd transport/broker && go build -o %[2]s/bin/ ./cmd/...", root, dir)
		if said, err := exec.Command("sh", "-ec", prepare).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", prepare, err, said)
		}
	}
	var errs []error
	used := map[*rule]bool{}
	for i, file := range strings.Fields(string(text)) {
		page, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		for _, b := range blocksOf(string(page)) {
			script := b.script(file, slow, used)
			if i%parts != part-1 || script == "" && len(b.skipped) == 0 {
				continue
			}
			fmt.Printf("== %s:%d\n", file, b.line)
			for _, s := range b.skipped {
				fmt.Println("skipped:", s)
			}
			fmt.Print(strings.ReplaceAll(script, check, ""))
			if !list && script != "" {
				in := filepath.Join(root, filepath.Dir(file))
				if rooted.MatchString(script) {
					in = root
				}
				if err := execute(in, script, "PATH="+dir+"/bin:"+os.Getenv("PATH"), "DATA="+filepath.Join(here, "../shared/data")); err != nil {
					errs = append(errs, fmt.Errorf("%s:%d: %w", file, b.line, err))
				}
			}
		}
	}
	for i := range table {
		if !used[&table[i]] {
			errs = append(errs, fmt.Errorf("no command of %s matches %q of table.go", table[i].file, table[i].line))
		}
	}
	return errors.Join(errs...)
}

// rooted matches scripts that run in the root of the clone: they name a path there.
var rooted = regexp.MustCompile(`(^|[ /])(examples|\.ci|\./cmd)/|cd transport/`)

const limit = 15 * time.Minute

// check follows each command, because bash -e ignores a failure on the left of &&.
const check = "[ $? = 0 ] || exit 1\n"

// execute runs a script in a folder, and prints its output if it fails.
func execute(in, script string, env ...string) error {
	cmd := exec.Command("timeout", "-k", "5", fmt.Sprint(limit.Seconds()), "bash", "-ec", prelude+script)
	cmd.Dir, cmd.Env = in, append(os.Environ(), env...)
	start := time.Now()
	said, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w\n%s\n%s", err, script, said)
	}
	fmt.Printf("-- %.0f s\n", time.Since(start).Seconds())
	return nil
}

// block is a block of a page that has commands.
type block struct {
	line     int      // of its first line in the page, from 1
	commands []string // some with several lines
	skipped  []string
}

var command = regexp.MustCompile(`^\$ |^([A-Z_]+=\S+ )*(\(umask|\./\S+|bash|cc|cd|chown|cp|docker|for|git|go|install|kubectl|mkdir|openssl|pip|sha256sum|spade-edge(-\w+)?|systemctl|useradd|wait)( |$)`)

// blocksOf returns the blocks of a page, fenced or indented, that have commands. Lines after a command that are none are its output.
func blocksOf(page string) (all []*block) {
	var b *block
	fenced, open, before, indent := false, false, "", ""
	for i, line := range strings.Split(page, "\n") {
		fence := strings.HasPrefix(strings.TrimLeft(line, " "), "```")
		if fence {
			indent, _, _ = strings.Cut(line, "`")
		}
		code := strings.TrimPrefix(line, "    ")
		if fenced {
			code = strings.TrimPrefix(line, indent)
		}
		switch {
		case fence:
			fenced, b, open = !fenced, nil, false
		case !fenced && (code == line || b == nil && before != ""):
			if line != "" {
				b, open = nil, false
			}
		case open:
			last := &b.commands[len(b.commands)-1]
			*last += "\n" + code
			open = unfinished(*last)
		case command.MatchString(code):
			if b == nil {
				b = &block{line: i + 1}
				all = append(all, b)
			}
			b.commands = append(b.commands, strings.TrimPrefix(code, "$ "))
			open = unfinished(code)
		}
		before = line
	}
	return all
}

// unfinished reports whether a command goes on in the next line.
func unfinished(command string) bool {
	loop := strings.HasPrefix(strings.TrimPrefix(command, "$ "), "for ")
	return strings.HasSuffix(command, `\`) || strings.HasSuffix(command, "|") || loop && !strings.Contains(command, "done")
}

var comment = regexp.MustCompile(`(?s)(  +#| *\\?\n).*`)

// script returns what to run of a block, and notes what is skipped.
func (b *block) script(file string, slow bool, used map[*rule]bool) string {
	var out strings.Builder
next:
	for _, c := range b.commands {
		for i := range table {
			r := &table[i]
			if r.file != "" && r.file != file || !regexp.MustCompile(r.line).MatchString(c) {
				continue
			}
			used[r] = true
			why := r.skip
			if r.data {
				if _, err := os.Stat("../shared/data"); err != nil {
					why = "no data sets beside this checkout"
				}
			}
			if r.slow && !slow {
				why = "takes minutes: -slow runs it"
			}
			if why != "" {
				b.skipped = append(b.skipped, comment.ReplaceAllString(c, "")+" ("+why+")")
				continue next
			}
			if r.as != "" {
				c = r.as
			}
			if r.before != "" {
				c = r.before + "\n" + c
			}
			break
		}
		out.WriteString(c + "\n" + check)
	}
	return out.String()
}
