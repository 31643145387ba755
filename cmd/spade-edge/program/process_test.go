package program

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/node"
)

type process struct {
	cmd  *exec.Cmd
	out  bytes.Buffer
	log  console
	over chan struct{} // closed when the process has ended
}

// start runs the program with args and kills it at the end of the test.
func start(t *testing.T, args ...string) *process {
	t.Helper()
	return starting(t, nil, args...)
}

// starting is like start, but adds env to the process's environment.
func starting(t *testing.T, env []string, args ...string) *process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: exec.Command(self, toy(args)...), over: make(chan struct{})}
	p.cmd.Env = append(append(os.Environ(), asProgram+"=1"), env...)
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.log
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait() // the error says no more than the exit code, which the method wait checks
		close(p.over)
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // fails if the process has already ended
		<-p.over
	})
	return p
}

func (p *process) wait(t *testing.T, code int) {
	t.Helper()
	select {
	case <-p.over:
	case <-time.After(5 * time.Minute):
		t.Fatalf("it has not ended:\n%s", &p.log)
	}
	if got := p.cmd.ProcessState.ExitCode(); got != code {
		t.Fatalf("exit code %d, want %d:\n%s", got, code, &p.log)
	}
}

// outcome waits for the process to exit and decodes the JSON object that it printed.
func (p *process) outcome(t *testing.T) (r node.RunResult) {
	t.Helper()
	p.read(t, &r)
	return r
}

// read waits for the process to exit, and decodes the JSON object that it printed. It stores the result in v.
func (p *process) read(t *testing.T, v any) {
	t.Helper()
	p.wait(t, cli.ExitDone)
	dec := json.NewDecoder(&p.out)
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		t.Fatal(err)
	}
	if dec.More() {
		t.Fatal("more than one JSON object")
	}
}

// ended reports whether the process has ended.
func (p *process) ended() bool {
	select {
	case <-p.over:
		return true
	default:
		return false
	}
}

// await waits until a single line of the log contains all of the words.
func (p *process) await(t *testing.T, words ...string) {
	t.Helper()
	for late := time.Now().Add(4 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
		last := p.ended() || time.Now().After(late)
		for line := range strings.Lines(p.log.String()) {
			if strings.HasSuffix(line, "\n") && !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(line, w) }) {
				return
			}
		}
		if last {
			t.Fatalf("no line with %q in\n%s", words, &p.log)
		}
	}
}

// console collects the log of a process.
type console struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (c *console) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text.Write(b)
}

func (c *console) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text.String()
}
