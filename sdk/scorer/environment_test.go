package scorer_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk/scorer"
)

// TestEnvironment checks that a program inherits only the standard variables and the variables that the configuration
// names.
func TestEnvironment(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the program is a shell's")
	}
	t.Setenv("SPADE_SECRET", "secret")
	t.Setenv("SPADE_NAMED", "named")
	seen := filepath.Join(t.TempDir(), "seen")
	script := `env > ` + seen + `; echo '{"hello":1,"dim":1,"samples":1}'; cat > /dev/null`
	open(t, scorer.StreamConfig{Program: scorer.Program{Command: []string{"sh", "-c", script},
		Environment: []string{"SPADE_NAMED", "SPADE_ABSENT"}}})
	env, err := os.ReadFile(seen)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{
		"PATH=": true, "SPADE_NAMED=named": true, "SPADE_EDGE_SCORER=": true, "SPADE_SECRET": false, "SPADE_ABSENT": false,
	} {
		if strings.Contains(string(env), name) != want {
			t.Errorf("%s is there: %v, want %v, in:\n%s", name, !want, want, env)
		}
	}
}

// TestWithheldEnvironment checks that the error of a program that does not begin names a variable that it may lack, unless
// it gets the variable.
func TestWithheldEnvironment(t *testing.T) {
	t.Setenv("PYTHONPATH", "lib")
	for want, named := range map[bool][]string{true: {"HOME"}, false: {"PYTHONPATH"}} {
		_, err := scorer.OpenStream(t.Context(), scorer.StreamConfig{Program: scorer.Program{Command: []string{"false"}, Environment: named}})
		if err == nil || strings.Contains(err.Error(), `; the program does not get PYTHONPATH, set here: `) != want {
			t.Errorf("environment %q: %v", named, err)
		}
	}
}

// TestDaemonOfProgram checks that a daemon is killed when its program ends, although it has left the program's process
// group, init has adopted it, and it holds the pipes open.
func TestDaemonOfProgram(t *testing.T) {
	if _, err := exec.LookPath("setsid"); err != nil || runtime.GOOS != "linux" {
		t.Skip("only Linux tells whom a process belongs to")
	}
	written := filepath.Join(t.TempDir(), "pid")
	// The daemon reports its process ID only after it has left the program's process group: if it were still in the
	// group, it would end with the group.
	daemon := fmt.Sprintf(`(setsid sh -c 'echo $$ > %[1]s; exec sleep 1000'&)
		until [ -s %[1]s ]; do sleep 0.1; done`, written)
	s := open(t, scorer.StreamConfig{Program: scorer.Program{Command: []string{"sh", "-c",
		daemon + `; echo '{"hello":1,"dim":1,"samples":1}'; cat > /dev/null`}}})
	pid := pidIn(t, written)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	gone(t, pid)
}
