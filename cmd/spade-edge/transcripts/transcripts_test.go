package transcripts

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/program"
)

var update = flag.Bool("update", false, "write what cmp finds into the scripts")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"spade-edge": program.Websockets.Main})
}

// Each file shows what a user types and sees. SPADE_EDGE names another program to test.
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
			"refused": refused, "signal": signal,
		},
	})
}

// wrong runs a command that must fail: "wrong CODE COMMAND ARG...". It checks the exit code, that standard output is
// empty, and that no file changed.
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
	if after := snapshot(ts, ts.MkAbs(".")); after != before {
		ts.Fatalf("files are\n%s\nand were\n%s", after, before)
	}
}

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

// edit writes a copy of a file with each OLD replaced by NEW: "edit FROM TO OLD NEW [OLD NEW]...".
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

// ports sets the variables P1, P2, ... to free ports of this machine: "ports NUMBER".
func ports(ts *testscript.TestScript, neg bool, args []string) {
	n, err := strconv.Atoi(strings.Join(args, ""))
	ts.Check(err)
	for i := range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		ts.Check(err)
		defer l.Close()
		ts.Setenv(fmt.Sprintf("P%d", i+1), strconv.Itoa(l.Addr().(*net.TCPAddr).Port))
	}
}
