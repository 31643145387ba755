package program

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
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
	log  *console
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
	p := &process{cmd: exec.Command(self, toy(args)...), log: newConsole(), over: make(chan struct{})}
	p.cmd.Env = append(append(os.Environ(), asProgram+"=1"), env...)
	p.cmd.Stdout, p.cmd.Stderr = &p.out, p.log
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait() // the error says no more than the exit code, which the method wait checks
		p.log.end()
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
		t.Fatalf("it has not ended:\n%s", p.log)
	}
	if got := p.cmd.ProcessState.ExitCode(); got != code {
		t.Fatalf("exit code %d, want %d:\n%s", got, code, p.log)
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

// console collects a process's output. A test can wait for words in it.
type console struct {
	mu    sync.Mutex
	more  *sync.Cond
	text  bytes.Buffer
	ended bool
}

func newConsole() *console {
	c := &console{}
	c.more = sync.NewCond(&c.mu)
	return c
}

func (c *console) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.more.Broadcast()
	return c.text.Write(b)
}

func (c *console) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	c.more.Broadcast()
}

func (c *console) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text.String()
}

// await waits until a single line of the output contains all of the words.
func (c *console) await(t *testing.T, words ...string) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	late := false
	defer time.AfterFunc(4*time.Minute, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		late = true
		c.more.Broadcast()
	}).Stop()
	for {
		for line := range strings.Lines(c.text.String()) {
			found := strings.HasSuffix(line, "\n")
			for _, w := range words {
				found = found && strings.Contains(line, w)
			}
			if found {
				return
			}
		}
		if c.ended || late {
			t.Fatalf("no line with %q in\n%s", words, c.text.String())
		}
		c.more.Wait()
	}
}
