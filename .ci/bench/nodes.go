package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

// fleet is a trial of real nodes, which run as separate processes on loopback. The time per round is calculated from
// the difference between a long and a short run, which cancels out the time for startup and shutdown.
type fleet struct {
	nodes       int
	init        string
	format      string // of the scorer's messages, if it has a scorer
	short, long int    // numbers of rounds
}

// rounds runs two fleets alternately and returns the seconds per round of each. The parameter program is the path of
// f's executable; the parameter with is the path of other's executable.
func (b *bench) rounds(f fleet, program string, other fleet, with string) (ours, theirs float64, err error) {
	if program == "" || with == "" {
		return 0, 0, skipped("no release for this system")
	}
	run := func(f fleet, rounds int, program string) func() (float64, error) {
		return func() (float64, error) {
			return f.once(b, rounds, func(node string) *exec.Cmd { return exec.Command(program, "run", node) })
		}
	}
	short, otherShort, err := inTurns(3, run(f, f.short, program), run(other, other.short, with))
	if err != nil {
		return 0, 0, err
	}
	long, otherLong, err := inTurns(4, run(f, f.long, program), run(other, other.long, with))
	ours, theirs = (long-short)/float64(f.long-f.short), (otherLong-otherShort)/float64(other.long-other.short)
	if err == nil && (ours <= 0 || theirs <= 0) {
		err = errors.New("long runs took less time than short ones: the machine is too busy")
	}
	return ours, theirs, err
}

// syncs returns the number of fsync and fdatasync calls that one node makes per round, as counted by strace.
func (f fleet) syncs(b *bench) (float64, error) {
	if _, err := exec.LookPath("strace"); err != nil {
		return 0, skipped("no strace")
	}
	count := func(rounds int) (n float64, err error) {
		out := filepath.Join(b.dir, "strace")
		_, err = f.once(b, rounds, func(node string) *exec.Cmd {
			if !strings.Contains(node, "node-0") {
				return exec.Command(b.program, "run", node)
			}
			return exec.Command("strace", "-f", "-e", "trace=fsync,fdatasync", "-o", out, b.program, "run", node)
		})
		text, errRead := os.ReadFile(out)
		for line := range strings.Lines(string(text)) {
			if strings.Contains(line, "sync") && !strings.Contains(line, "resumed>") {
				n++
			}
		}
		return n, errors.Join(err, errRead)
	}
	short, err := count(f.short)
	if err != nil {
		return 0, err
	}
	long, err := count(f.long)
	return (long - short) / float64(f.long-f.short), err
}

// once creates the files of the fleet and runs it for the given number of rounds. It returns the duration of the run in
// seconds.
func (f fleet) once(b *bench, rounds int, command func(node string) *exec.Cmd) (float64, error) {
	dir := filepath.Join(b.dir, "fleet")
	if err := os.RemoveAll(dir); err != nil {
		return 0, err
	}
	port, err := freePort()
	if err != nil {
		return 0, err
	}
	args := append([]string{"init", dir, "-n", strconv.Itoa(f.nodes), "-port", port, "-rounds", strconv.Itoa(rounds),
		"-cooldown", "0"}, strings.Split(f.init, "|")...)
	if _, err := b.run(b.dir, nil, b.program, args...); err != nil {
		return 0, err
	}
	nodes, err := filepath.Glob(filepath.Join(dir, "node-*", "node.json"))
	if err != nil || len(nodes) != f.nodes {
		return 0, fmt.Errorf("found %d node files, want %d: %w", len(nodes), f.nodes, err)
	}
	if f.format != "" {
		if err := setFormat(nodes[0], f.format); err != nil {
			return 0, err
		}
	}
	var all sync.WaitGroup
	walls, errs := make([]float64, len(nodes)), make([]error, len(nodes))
	for i, node := range nodes {
		cmd := command(node)
		all.Go(func() {
			var s said
			s, errs[i] = b.run(b.dir, nil, cmd.Path, cmd.Args[1:]...)
			walls[i] = s.Wall
		})
	}
	all.Wait()
	most := 0.0
	for _, w := range walls {
		most = max(most, w)
	}
	return most, errors.Join(errs...)
}

// freePort returns an unused loopback port for the first node of a fleet. The ports after it, which the other nodes
// need, are usually unused, too.
func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, err
}

func setFormat(path, format string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var node map[string]any
	if err := json.Unmarshal(text, &node); err != nil {
		return err
	}
	oracle, ok := node["oracle"].(map[string]any)
	if !ok {
		return fmt.Errorf("%s: no oracle", path)
	}
	oracle["format"] = format
	if text, err = json.Marshal(node); err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}

// nodeRows returns the rows for two nodes whose loss takes almost no time to compute.
func (b *bench) nodeRows() []row {
	open := fleet{nodes: 2, init: "-tau|1|-batch|1|-non-private", short: 100, long: 900}
	private := fleet{nodes: 2, init: "-tau|1|-batch|1|-epsilon|1000000", short: 50, long: 450}
	return []row{
		{"two nodes over ws: a private round", "not private", "s", none, func() (float64, float64, error) {
			return b.rounds(private, b.program, open, b.program)
		}},
		{"two nodes over ws: syncs of a private round", "", "", atMost(3), func() (float64, float64, error) {
			n, err := private.syncs(b)
			return n, 0, err
		}},
		{"two nodes over ws: a round, released", "default build", "s", atMost(1.1), func() (float64, float64, error) {
			return b.rounds(open, b.released, open, b.program)
		}},
	}
}

// scorerRows returns the rows for losses computed by external programs: 64 samples of 1,000 columns, with five queries
// per sample and round.
func (b *bench) scorerRows() []row {
	const d, samples, perRound = 1000, 64, 5 * 64
	scripts, err := filepath.Abs(filepath.Join(root, "examples", "scorer"))
	if err != nil {
		scripts = "scorers"
	}
	table, worker := filepath.Join(b.dir, "table.csv"), filepath.Join(b.dir, "score")
	prepare := sync.OnceValue(func() error {
		_, err := b.run(b.dir, nil, "cc", "-std=c99", "-O2", "-o", worker, filepath.Join(scripts, "score.c"), "-lm")
		if err != nil {
			worker = ""
		}
		return writeTable(table, samples, d)
	})
	scored := func(lang, format string) fleet {
		command, rounds := worker, 220
		switch lang {
		case "Python":
			command, rounds = "python3 "+filepath.Join(scripts, "score.py"), 55
		case "numpy": // the Python package supports only CBOR
			return fleet{nodes: 1, format: format, short: rounds / 11, long: rounds, init: fmt.Sprintf("-tau|4|-non-private|-dim|%d|"+
				"-samples|%d|-stream|%s %s %s", d, samples, b.python, filepath.Join(scripts, "..", "python", "score.py"), table)}
		}
		return fleet{nodes: 1, format: format, short: rounds / 11, long: rounds,
			init: fmt.Sprintf("-tau|4|-non-private|-dim|%d|-samples|%d|-stream|%s %s %s", d, samples, command, format, table)}
	}
	queries := func(lang, format, program, against, other, with string) func() (float64, float64, error) {
		return func() (float64, float64, error) {
			if err := prepare(); err != nil {
				return 0, 0, err
			}
			_, err := exec.LookPath("python3")
			switch {
			case (lang == "C" || against == "C") && worker == "":
				return 0, 0, skipped("no C compiler")
			case lang == "Python" && err != nil:
				return 0, 0, skipped("no Python")
			case lang == "numpy" && b.python == "":
				return 0, 0, skipped("numpy " + b.numpyName)
			}
			x, y, err := b.rounds(scored(lang, format), program, scored(against, other), with)
			return x / perRound, y / perRound, err
		}
	}
	query := func(lang, format, program, other, with string) func() (float64, float64, error) {
		return queries(lang, format, program, lang, other, with)
	}
	return []row{
		{"scorer in C, CBOR, d = 1,000: a query, released", "default build", "s", atMost(1.1),
			query("C", "cbor", b.released, "cbor", b.program)},
		{"scorer in Python, CBOR, d = 1,000: a query, released", "default build", "s", atMost(1.1),
			query("Python", "cbor", b.released, "cbor", b.program)},
		{"scorer in Python, JSON, d = 1,000: a query, released", "default build", "s", atMost(1.1),
			query("Python", "json", b.released, "json", b.program)},
		{"scorer in Python, d = 1,000: a query, JSON", "CBOR", "s", none,
			query("Python", "json", b.program, "cbor", b.program)},
		{"scorer in numpy with examples/python, CBOR, d = 1,000: a query", "in C", "s", atMost(2),
			queries("numpy", "cbor", b.program, "C", "cbor", b.program)},
	}
}

// writeTable writes a CSV file in which each row consists of d numbers and a class.
func writeTable(path string, rows, d int) error {
	var s strings.Builder
	for j := range d {
		fmt.Fprintf(&s, "x%d,", j)
	}
	s.WriteString("class\n")
	for i := range rows {
		for j := range d {
			fmt.Fprintf(&s, "%.3f,", float64((7*i+13*j)%101)/50-1)
		}
		fmt.Fprintf(&s, "%d\n", i%2)
	}
	return os.WriteFile(path, []byte(s.String()), 0o600)
}
