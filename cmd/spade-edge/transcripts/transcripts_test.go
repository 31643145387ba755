package transcripts

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/program"
)

var update = flag.Bool("update", false, "write what cmp finds into the scripts")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"spade-edge": program.Websockets.Main, "fetch": fetch})
}

// TestTranscripts runs files that show what a user types and sees. If the environment variable SPADE_EDGE is set, the
// test runs the program at this path instead of the program built from this repository.
func TestTranscripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       *update,
		Setup: func(env *testscript.Env) error {
			if at := os.Getenv("SPADE_EDGE"); at != "" {
				env.Setenv("PATH", filepath.Dir(at)+string(os.PathListSeparator)+env.Getenv("PATH"))
			}
			patients, err := filepath.Abs("../../../examples/patients.csv")
			env.Setenv("PATIENTS", patients)
			env.Setenv("GOCOVERDIR", os.Getenv("GOCOVERDIR"))
			return err
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"await": await, "edit": edit, "ports": ports, "wrong": wrong,
			"exits": exits, "field": field, "is": is, "proxy": proxy, "signal": signal, "trouble": trouble,
		},
	})
}

// wrong runs a command that must fail: "wrong CODE COMMAND ARG...". It checks the exit code, that standard output is
// empty, that the message names no package of this module, and that no file changed.
func wrong(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: wrong CODE COMMAND ARG...")
	}
	before := snapshot(ts, ts.MkAbs("."))
	err := ts.Exec(args[1], args[2:]...)
	code := 0
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		code = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("exit code %d, want %s\n%s", code, args[0], ts.ReadFile("stderr"))
	}
	if out := ts.ReadFile("stdout"); out != "" {
		ts.Fatalf("found output of a command that failed:\n%s", out)
	}
	if found := packagePrefix().FindString(ts.ReadFile("stderr")); found != "" {
		ts.Fatalf("%q in what people read:\n%s", found, ts.ReadFile("stderr"))
	}
	if after := snapshot(ts, ts.MkAbs(".")); after != before {
		ts.Fatalf("files are\n%s\nand were\n%s", after, before)
	}
}

// packagePrefix matches the names of this module's packages at the beginning of error messages. These names mean
// nothing to users.
var packagePrefix = sync.OnceValue(func() *regexp.Regexp {
	names := []string{"sdk", "zoest", "dpmech"}
	for _, root := range []string{"sdk", "zoest", "transport"} {
		err := filepath.WalkDir("../../../"+root, func(path string, d fs.DirEntry, err error) error {
			// Skip package names that are also the names of a file's section or of a command.
			if name := filepath.Base(path); err == nil && d.IsDir() && !slices.Contains([]string{"testdata", "graph", "wire", "plan", "scorer", root}, name) {
				names = append(names, name)
			}
			return err
		})
		if err != nil {
			panic(err)
		}
	}
	return regexp.MustCompile(`(?m)(^|: |; |["(])(` + strings.Join(names, "|") + `): `)
})

func snapshot(ts *testscript.TestScript, dir string) string {
	var all strings.Builder
	ts.Check(filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().IsRegular() {
			var text []byte
			if text, err = os.ReadFile(path); err == nil {
				fmt.Fprintf(&all, "%x ", sha256.Sum256(text))
			}
		}
		fmt.Fprintf(&all, "%v %s\n", info.Mode(), path)
		return err
	}))
	return all.String()
}

// await repeats a command for up to a minute until its output matches a pattern: "await PATTERN COMMAND ARG...".
func await(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: await PATTERN COMMAND ARG...")
	}
	pattern := regexp.MustCompile("(?m)" + args[0])
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if err := ts.Exec(args[1], args[2:]...); err == nil && pattern.MatchString(ts.ReadFile("stdout")) {
			return
		}
		if time.Now().After(end) {
			ts.Fatalf("no match for %q in\n%s%s", args[0], ts.ReadFile("stdout"), ts.ReadFile("stderr"))
		}
	}
}

// edit writes a copy of a file with each OLD replaced with NEW: "edit FROM TO OLD NEW [OLD NEW]...".
func edit(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 4 || len(args)%2 != 0 {
		ts.Fatalf("usage: edit FROM TO OLD NEW [OLD NEW]...")
	}
	text, err := os.ReadFile(ts.MkAbs(args[0]))
	ts.Check(err)
	for i := 2; i < len(args); i += 2 {
		if !bytes.Contains(text, []byte(args[i])) {
			ts.Fatalf("no %q in %s:\n%s", args[i], args[0], text)
		}
		text = bytes.ReplaceAll(text, []byte(args[i]), []byte(args[i+1]))
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), text, 0o600))
}

// ports sets the variables P1, P2, ... to free ports of this machine: "ports NUMBER". The ports are outside the range
// for outgoing connections, so that no other process takes a port while nothing listens there.
func ports(ts *testscript.TestScript, neg bool, args []string) {
	n, err := strconv.Atoi(strings.Join(args, ""))
	ts.Check(err)
	for i := 1; i <= n; {
		port := 18000 + (31*os.Getpid()+int(nextPort.Add(1)))%14500
		if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			l.Close()
			ts.Setenv(fmt.Sprintf("P%d", i), strconv.Itoa(port))
			i++
		}
	}
}

var nextPort atomic.Int32

// fetch is a program that prints a web page: "fetch CODE URL [TOKEN]". It fails unless the server answers with status
// CODE.
func fetch() {
	request, err := http.NewRequest(http.MethodGet, os.Args[2], nil)
	if err == nil && len(os.Args) > 3 {
		request.Header.Set("Authorization", "Bearer "+os.Args[3])
	}
	var answer *http.Response
	if err == nil {
		answer, err = http.DefaultClient.Do(request)
	}
	if err == nil {
		_, err = io.Copy(os.Stdout, answer.Body)
	}
	if err == nil && strconv.Itoa(answer.StatusCode) != os.Args[1] {
		err = fmt.Errorf("%s answers %s, want %s", os.Args[2], answer.Status, os.Args[1])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "fetch:", err)
		os.Exit(1)
	}
}

// readAll returns the contents of all files that match a pattern.
func readAll(t *testing.T, pattern string) (all string) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %d files, %v", pattern, len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all += "\n" + string(text)
	}
	return all
}

// TestExamplesRun checks that every command line in the help and the README runs in a script, as shown or with more
// flags at its end. The comparison ignores quotation marks, ports of this machine, redirections, and which node of a
// fleet a command line names.
func TestExamplesRun(t *testing.T) {
	plain := func(line string) string {
		line = regexp.MustCompile(`127\.0\.0\.1:\$?\w+`).ReplaceAllString(line, "127.0.0.1:PORT")
		line = strings.NewReplacer("$i", "0", "'", "", `"`, "", "$PATIENTS", "examples/patients.csv").Replace(line)
		return strings.Join(strings.Fields(line), " ") + " "
	}
	var ran []string
	// Command lines that fail do not count, except those with the run command, which also fails if the script stops the
	// node.
	for _, found := range regexp.MustCompile(`(?m)^(?:exec |! exec spade-edge run ).*`).FindAllString(readAll(t, "testdata/*.txtar"), -1) {
		_, line, _ := strings.Cut(found, "exec ")
		ran = append(ran, plain(line))
	}
	texts := readAll(t, "../internal/cli/usage/*.txt") + readAll(t, "../internal/cli/topics/*.txt")
	texts = regexp.MustCompile(` \\\n +`).ReplaceAllString(texts, " ")
	shown := regexp.MustCompile(`(?m)^ +(spade-edge [a-z].*)`).FindAllStringSubmatch(texts, -1)
	readme := regexp.MustCompile(`(?m)(?:^|&& |do )(spade-edge [^&;\n]*)`).FindAllStringSubmatch(readAll(t, "../../../README.md"), -1)
	if len(shown) < 90 || len(readme) < 5 {
		t.Errorf("%d examples in help, %d in the README", len(shown), len(readme))
	}
	for _, found := range append(shown, readme...) {
		line := plain(regexp.MustCompile(` +(#|[<>] ?\w).*`).ReplaceAllString(found[1], ""))
		if !slices.ContainsFunc(ran, func(one string) bool { return strings.HasPrefix(one, line) }) {
			t.Errorf("no script runs %s", line)
		}
	}
}
