package scorer

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Time limits for the shutdown of a process, which normally takes almost no time.
const (
	grace = time.Second            // for the process to end after it was asked to end, or after it closed its output
	drain = 500 * time.Millisecond // for reading each pipe to its end, after the process ended
	limbo = 5 * time.Second        // for the process to disappear after it was killed
)

// process is a running program in its own process group.
type process struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    io.ReadCloser
	err    io.ReadCloser // standard error of the process
	errors tail
	read   chan struct{} // closed when no goroutine reads the field out any more
	exited chan struct{} // closed when the process has ended
	over   chan struct{} // closed when the process and its goroutines are gone
	mark   string        // variable in the environment of the process and its children

	unfinished int // number of bytes of an incomplete message; known when the channel read is closed

	mu   sync.Mutex // guards the field gone
	gone bool       // the process has been waited for, so its ID may now belong to another process
}

// start starts the program p, which must be a result of [Program].ready. A dedicated thread starts the process and
// waits for its end, because Linux kills the process when that thread ends (see ownGroup).
func start(p Program, mark string) (*process, error) {
	cmd := exec.Command(p.Command[0], p.Command[1:]...)
	cmd.Dir = p.Dir
	cmd.SysProcAttr = ownGroup()
	cmd.Env = append(environment(p.Environment), mark)
	out := &process{cmd: cmd, mark: mark, read: make(chan struct{}), exited: make(chan struct{}), over: make(chan struct{})}
	var errs [3]error
	out.in, errs[0] = cmd.StdinPipe()
	out.out, errs[1] = cmd.StdoutPipe()
	out.err, errs[2] = cmd.StderrPipe()
	cmd.Err = errors.Join(append(errs[:], cmd.Err)...)
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := cmd.Start() // closes the pipes if it fails
		started <- err
		if err == nil {
			out.wait()
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return out, nil
}

// wait waits for the end of the process. A child that outlives the process may hold the pipes open, so wait closes the
// node's ends of the pipes.
func (p *process) wait() {
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		_, _ = io.Copy(&p.errors, p.err)
	}()
	p.cmd.ProcessState, _ = p.cmd.Process.Wait() // Cmd.Wait would close the pipes before they are read
	p.mu.Lock()
	p.gone = true
	signalGroup(p.cmd.Process.Pid, syscall.SIGKILL) // kills what the process left in its group
	p.mu.Unlock()
	close(p.exited)
	closes(heard, drain)
	closes(p.read, drain)
	p.in.Close()
	p.out.Close()
	p.err.Close()
	<-heard
	<-p.read
	close(p.over)
}

func (p *process) signal(signal os.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.gone {
		signalGroup(p.cmd.Process.Pid, signal)
	}
}

// kill kills the process and its group. It may be called more than once.
func (p *process) kill() {
	p.signal(syscall.SIGKILL)
	_ = p.cmd.Process.Kill() // needed on systems without process groups
	p.in.Close()
}

// end asks the process to end, first by closing its input and then with a signal, and kills it if it is still running.
func (p *process) end() {
	p.in.Close()
	if closes(p.exited, grace) {
		return
	}
	p.signal(syscall.SIGTERM)
	if !closes(p.exited, grace) {
		p.kill()
	}
}

// closes reports whether a channel is closed within a time.
func closes(c <-chan struct{}, within time.Duration) bool {
	select {
	case <-c:
		return true
	case <-time.After(within):
		return false
	}
}

// left waits until a process that was asked to end or killed is gone, with its goroutines. It returns false if the system
// cannot kill the process, for example while the process waits for a disk.
func (p *process) left() bool {
	return closes(p.over, 2*grace+limbo) // end waits twice for the grace time before it kills the process
}

// lost returns an error about a process that no longer reads or writes. The error reports how the process ended or, if
// it is still running, contains the given description of what it did.
func (p *process) lost(what string) error {
	if closes(p.exited, grace) {
		return fmt.Errorf("has ended: %v", p.cmd.ProcessState)
	}
	return errors.New(what + " but is still running")
}

func (p *process) lastWords() string {
	text, cut := p.errors.text()
	switch {
	case text == "":
		return ""
	case cut:
		return fmt.Sprintf("; standard error ends with %q", text)
	}
	return fmt.Sprintf("; standard error: %q", text)
}

type tail struct {
	mu  sync.Mutex
	end []byte
	cut bool // earlier output was dropped
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end = append(t.end, b...)
	if more := len(t.end) - maxStderr; more > 0 {
		t.end, t.cut = slices.Delete(t.end, 0, more), true
	}
	return len(b), nil
}

func (t *tail) text() (text string, cut bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(strings.ToValidUTF8(string(t.end), "?")), t.cut
}
