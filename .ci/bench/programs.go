package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const root = "../.."

type bench struct {
	dir       string // temporary folder
	program   string // this project's program, built with default flags
	released  string // this project's program, built with the flags of a release; empty if no release is for this system
	python    string // a Python with numpy; empty without one
	numpyName string
	data      string
	dataName  string
}

// newBench builds this project's program both as a release and with default flags, and detects which other programs
// this machine has.
func newBench(data string) (b *bench, err error) {
	b = &bench{data: data, numpyName: "is not here", dataName: "MNIST, digits 6 and 7"}
	if b.dir, err = os.MkdirTemp("", "spade-bench"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			b.close()
		}
	}()
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-interrupted
		b.close()
		os.Exit(1)
	}()
	b.program = filepath.Join(b.dir, "spade-edge")
	if _, err := b.run(root, nil, "go", "build", "-o", b.program, "./cmd/spade-edge"); err != nil {
		return nil, err
	}
	target := runtime.GOOS + "/" + runtime.GOARCH
	if _, err := b.run(root, nil, "go", "run", "./.ci/footprint", "-release", b.dir, "-targets", target); err == nil {
		if found, _ := filepath.Glob(filepath.Join(b.dir, "spade-edge-"+runtime.GOOS+"*")); len(found) == 1 {
			b.released = found[0]
		}
	}
	for _, python := range []string{"python3", "/usr/bin/python3"} {
		ask := "import numpy; print(numpy.__version__)\n" +
			"print(' '.join(w for l in open('/proc/self/maps') for w in l.split() if 'blas' in w.lower()))"
		out, err := exec.Command(python, "-c", ask).Output()
		version, blas, _ := strings.Cut(string(out), "\n")
		if err == nil {
			b.python, b.numpyName = python, version
			if !strings.Contains(strings.ToLower(blas), "openblas") {
				b.numpyName += ", without OpenBLAS"
			} else {
				b.numpyName += " with OpenBLAS"
			}
			break
		}
	}
	if _, missing := os.Stat(data); missing != nil {
		b.data, b.dataName = filepath.Join(b.dir, "images"), "made-up images of the sizes of MNIST, digits 6 and 7"
		err = errors.Join(writeImages(b.data, "train", 12183, 784), writeImages(b.data, "t10k", 1986, 784))
	} else {
		b.data, err = filepath.Abs(data)
	}
	return b, err
}

func (b *bench) close() { os.RemoveAll(b.dir) }

// said is the result of a program that has exited.
type said struct {
	JSON map[string]any // the program's output, if it is one JSON object
	Wall float64
	MB   float64 // peak resident memory in MB, if known
}

func (b *bench) run(dir string, env []string, name string, args ...string) (said, error) {
	cmd := exec.Command(name, args...)
	var out, errs bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, append(os.Environ(), env...), &out, &errs
	start := time.Now()
	if err := cmd.Run(); err != nil {
		text := out.String() + errs.String() // go test prints failures to stdout
		return said{}, fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, text[max(0, len(text)-8000):])
	}
	s := said{Wall: time.Since(start).Seconds(), MB: peak(cmd.ProcessState)}
	if json.Unmarshal(out.Bytes(), &s.JSON) != nil {
		s.JSON = nil
	}
	return s, nil
}

func (s said) number(key string) (float64, error) {
	x, ok := s.JSON[key].(float64)
	if !ok {
		return 0, fmt.Errorf("the JSON output has no numeric field %q", key)
	}
	return x, nil
}

// weights returns the sizes, in MB, of the released program and of a stripped default build.
func (b *bench) weights() (ours, theirs float64, err error) {
	if b.released == "" {
		return 0, 0, skipped("no release for this system")
	}
	stripped := filepath.Join(b.dir, "stripped")
	_, err = b.run(root, []string{"CGO_ENABLED=0"}, "go", "build", "-ldflags", "-s -w", "-o", stripped, "./cmd/spade-edge")
	if err != nil {
		return 0, 0, err
	}
	a, errA := os.Stat(b.released)
	c, errC := os.Stat(stripped)
	if err := errors.Join(errA, errC); err != nil {
		return 0, 0, err
	}
	return float64(a.Size()) / 1e6, float64(c.Size()) / 1e6, nil
}

func (s said) seconds() (float64, error) { return s.number("seconds") }
func (s said) wall() (float64, error)    { return s.Wall, nil }
func (s said) peak() (float64, error)    { return s.MB, nil }

// ours runs a command of this project's program on the given number of processors.
func (b *bench) ours(program string, cores int, args string) (said, error) {
	return b.run(b.dir, []string{"GOMAXPROCS=" + strconv.Itoa(cores)}, program, strings.Fields(args)...)
}

// job is a simulation that trains on images of digits, with the nodes on a ring. Both this project's program and the
// numpy script can perform it.
type job struct {
	nodes, components, rounds, tau int
	eta, mu                        float64
}

const share = 0.75 // gain, as a share of the stability limit

// spade returns a function that runs the job with this project's program and extracts one figure from its result.
func (b *bench) spade(j job, cores int, of func(said) (float64, error)) func() (float64, error) {
	return func() (float64, error) {
		s, err := b.ours(b.program, cores, fmt.Sprintf("simulate -data idx:%s -pca %d -nodes %d -graph ring -rounds %d "+
			"-tau %d -eta %v -mu %v -gain %v -estimator paper -cooldown 0 -non-private -json",
			b.data, j.components, j.nodes, j.rounds, j.tau, j.eta, j.mu, share))
		if err != nil {
			return 0, err
		}
		return checked(s, of)
	}
}

// numpy returns a function that runs the job with numpy and extracts one figure from its result.
func (b *bench) numpy(j job, threads int, of func(said) (float64, error)) func() (float64, error) {
	return func() (float64, error) {
		if b.python == "" {
			return 0, skipped("no numpy")
		}
		n := strconv.Itoa(threads)
		args := fmt.Sprintf("-B numpy/mnist.py %s %d %d %d %d %v %v %v",
			b.data, j.components, j.nodes, j.rounds, j.tau, j.eta, j.mu, share)
		env := []string{"OPENBLAS_NUM_THREADS=" + n, "OMP_NUM_THREADS=" + n}
		s, err := b.run(".", env, b.python, strings.Fields(args)...)
		if err != nil {
			return 0, err
		}
		return checked(s, of)
	}
}

// checked extracts one figure from a simulation's result. It fails if the accuracy is below 90 percent, because then
// the simulation did not do the job.
func checked(s said, of func(said) (float64, error)) (float64, error) {
	score, _ := s.JSON["score"].(map[string]any)
	if accuracy, _ := score["mean"].(float64); accuracy < 90 {
		return 0, fmt.Errorf("score.mean is %.1f %%, want at least 90 %%", accuracy)
	}
	return of(s)
}

// against returns a function that measures the job with this project's program on the given number of processors, and
// with numpy on as many threads or on one, whichever is faster.
func (b *bench) against(j job, cores int, of func(said) (float64, error)) func() (float64, float64, error) {
	return func() (ours, theirs float64, err error) {
		ours, theirs, err = inTurns(3, b.spade(j, cores, of), b.numpy(j, cores, of))
		if err == nil && cores > 1 {
			again, single, errSingle := inTurns(3, b.spade(j, cores, of), b.numpy(j, 1, of))
			ours, theirs, err = min(ours, again), min(theirs, single), errSingle
		}
		return ours, theirs, err
	}
}
