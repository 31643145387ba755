package scorer

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Limits on a program's output.
const (
	maxMessage = 64 << 10 // bytes of a line or a frame
	maxStderr  = 2 << 10  // bytes kept of a process's standard error
	maxDim     = 1 << 28
	maxSamples = math.MaxInt32
	maxWorkers = 1024
	maxDigest  = 256
)

// Program specifies how to start and restart a program.
type Program struct {
	// Command is the program and its arguments. A program name without a path separator is looked up in PATH; any other
	// relative path is relative to Dir.
	Command []string
	Dir     string // the working directory; empty means the working directory of this process
	Workers int    // number of concurrent processes, up to 1024; 0 means 1

	// Environment names the environment variables that the program inherits in addition to PATH, HOME, USER, LANG,
	// LC_ALL, LC_CTYPE, TZ, TMPDIR, TMP, TEMP, SYSTEMROOT and USERPROFILE.
	Environment []string

	// Timeout is the longest time that a process may take for its next answer; 0 means 30 s.
	Timeout time.Duration
	// Backoff is the longest pause before the restart of a program that fails repeatedly; 0 means 30 s.
	Backoff time.Duration
	// Apart is for runs that protect each record. If Apart is set, only a process that fails before its hello counts as
	// a failure of the program. If a process fails with several open queries, all of them are sent again; a query fails
	// only if it was the only open query. A program that fails on every query then costs up to one Timeout per query.
	Apart bool
}

// Format is the encoding of a stream's messages.
type Format string

// The formats of a stream.
const (
	JSON Format = "json" // one line of JSON per message
	CBOR Format = "cbor" // a four-byte length and a CBOR map per message
)

// StreamConfig configures a program that keeps running.
type StreamConfig struct {
	Program
	Format Format        // empty means JSON
	Start  time.Duration // time limit for the hello of a process; 0 means 30 s
}

// Validate reports all configuration errors at once.
func (c StreamConfig) Validate() error {
	errs := c.faults()
	if c.Format != "" && codecs[c.Format] == nil {
		errs = append(errs, fmt.Errorf("scorer: Format is %q, want %q or %q", c.Format, JSON, CBOR))
	}
	return errors.Join(append(errs, notNegative("Start", c.Start))...)
}

func (p Program) faults() (errs []error) {
	if len(p.Command) == 0 || p.Command[0] == "" {
		errs = append(errs, fmt.Errorf("scorer: Command is %q, want a program and its arguments", p.Command))
	}
	for i, arg := range p.Command {
		if strings.ContainsRune(arg, 0) {
			errs = append(errs, fmt.Errorf("scorer: Command[%d] is %q, want an argument without a zero byte", i, arg))
		}
	}
	for i, name := range p.Environment {
		if name == "" || strings.ContainsAny(name, "=\x00") || name == markName {
			errs = append(errs, fmt.Errorf("scorer: Environment[%d] is %q, want the name of a variable", i, name))
		}
	}
	if p.Workers < 0 || p.Workers > maxWorkers {
		errs = append(errs, fmt.Errorf("scorer: Workers is %d, want 0..%d (0 means 1)", p.Workers, maxWorkers))
	}
	return append(errs, notNegative("Timeout", p.Timeout), notNegative("Backoff", p.Backoff))
}

func notNegative(name string, d time.Duration) error {
	if d < 0 {
		return fmt.Errorf("scorer: %s is %v, want 0 (the default) or more", name, d)
	}
	return nil
}

// ready returns a copy of p in which defaults are filled in and the program's name is replaced by its path.
func (p Program) ready() (Program, error) {
	p.Workers = cmp.Or(p.Workers, 1)
	p.Timeout = cmp.Or(p.Timeout, 30*time.Second)
	p.Backoff = cmp.Or(p.Backoff, 30*time.Second)
	path, err := p.Command[0], error(nil)
	if filepath.Base(path) != path && !filepath.IsAbs(path) {
		path, err = filepath.Abs(filepath.Join(p.Dir, path))
	}
	if err == nil {
		path, err = exec.LookPath(path)
	}
	if err != nil {
		return p, fmt.Errorf("scorer: %w", err)
	}
	p.Command = append([]string{path}, p.Command[1:]...)
	return p, nil
}

// markName is the name of the environment variable that marks the processes of an oracle and their descendants.
const markName = "SPADE_EDGE_SCORER"

// passed lists the environment variables that every program gets. A program gets any other variable, such as a proxy's
// credentials, only if [Program].Environment names it.
var passed = []string{
	"PATH", "HOME", "USER", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "TMP", "TEMP", "SYSTEMROOT", "USERPROFILE",
}

func environment(named []string) (env []string) {
	for _, name := range slices.Concat(passed, named) {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// searched lists variables in which programs look for their parts.
var searched = []string{
	"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "R_LIBS", "R_LIBS_USER", "JULIA_PROJECT", "NODE_PATH", "CLASSPATH",
}

// withheld returns the end of an error about a program that did not begin. It names the variables of searched that are
// set here and that the program does not get.
func withheld(named []string) string {
	var held []string
	for _, name := range searched {
		if os.Getenv(name) != "" && !slices.Contains(named, name) {
			held = append(held, name)
		}
	}
	if held == nil {
		return ""
	}
	return fmt.Sprintf("; the program does not get %s, set here: if it needs that, name it in Environment (in a node file: "+
		"\"environment\": [%q])", strings.Join(held, ", "), held[0])
}
