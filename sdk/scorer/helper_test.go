package scorer_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/spade-dfl/spade-edge/sdk/scorer"
)

// asScorer, as the first argument, makes the test binary act as a scoring program. The other arguments are the format,
// the kind of misbehavior, and a path for kinds that need one.
const asScorer = "as-scorer"

func TestMain(m *testing.M) {
	if len(os.Args) > 3 && os.Args[1] == asScorer {
		scoring(os.Args[2:])
		return
	}
	os.Setenv("GORACE", "atexit_sleep_ms=0") // without this setting, programs take a second to end under -race
	flag.Parse()
	if p := flag.Lookup("test.parallel").Value; p.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) {
		_ = p.Set(strconv.Itoa(8 * runtime.GOMAXPROCS(0))) // most tests only wait for a time limit
	}
	before := runtime.NumGoroutine()
	code := m.Run()
	if fuzzing := flag.Lookup("test.fuzz").Value.String() + flag.Lookup("test.fuzzworker").Value.String(); fuzzing != "false" {
		os.Exit(code) // exits without the check for leaked goroutines, because the fuzzer has its own goroutines
	}
	for end := time.Now().Add(time.Minute); runtime.NumGoroutine() > before; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			buf := make([]byte, 1<<20)
			fmt.Fprintf(os.Stderr, "goroutines are left:\n%s\n", buf[:runtime.Stack(buf, true)])
			os.Exit(1)
		}
	}
	if left := children(); code == 0 && left != "" {
		fmt.Fprintln(os.Stderr, "processes are left:", left)
		os.Exit(1)
	}
	os.Exit(code)
}

func children() string {
	var all []byte
	tasks, _ := os.ReadDir("/proc/self/task")
	for _, task := range tasks {
		list, _ := os.ReadFile("/proc/self/task/" + task.Name() + "/children")
		all = append(all, list...)
	}
	return string(all)
}

// Constants of the program: the number of parameters, the number of samples, and the value of x[0] that triggers
// misbehavior.
const (
	dim     = 3
	samples = 5
	trigger = 13
)

func lossOf(x []float32, sample int) float64 {
	sum := float64(sample) / 8
	for i, v := range x {
		off := float64(v) - float64(i)/4
		sum += float64(off * off)
	}
	return sum
}

// question is a query of a stream.
type question struct {
	ID     uint64    `json:"id"`
	Sample int       `json:"sample"`
	X      []float32 `json:"x"`
}

type program struct {
	format string
	in     *bufio.Reader
	out    *bufio.Writer
}

func (p *program) send(v any) {
	if p.format != "cbor" {
		line, _ := json.Marshal(v)
		p.raw(string(line) + "\n")
		return
	}
	names := map[string]uint64{"hello": 1, "dim": 2, "samples": 3, "id": 1, "loss": 2, "error": 3, "data": 5}
	keyed := map[uint64]any{}
	for name, value := range v.(map[string]any) {
		keyed[names[name]] = value
	}
	frame, _ := cbor.Marshal(keyed)
	p.raw(string(binary.LittleEndian.AppendUint32(nil, uint32(len(frame)))) + string(frame))
}

func (p *program) raw(text string) {
	if _, err := p.out.WriteString(text); err != nil {
		os.Exit(0)
	}
}

func (p *program) flush() {
	if p.out.Flush() != nil {
		os.Exit(0)
	}
}

func (p *program) receive() (q question, ok bool) {
	if p.format != "cbor" {
		line, err := p.in.ReadBytes('\n')
		return q, err == nil && json.Unmarshal(line, &q) == nil
	}
	head := make([]byte, 4)
	if _, err := io.ReadFull(p.in, head); err != nil {
		return q, false
	}
	frame := make([]byte, binary.LittleEndian.Uint32(head))
	if _, err := io.ReadFull(p.in, frame); err != nil {
		return q, false
	}
	var m struct {
		ID     uint64   `cbor:"1,keyasint"`
		Sample int      `cbor:"2,keyasint"`
		X      cbor.Tag `cbor:"3,keyasint"`
	}
	if err := cbor.Unmarshal(frame, &m); err != nil {
		panic(err)
	}
	q.ID, q.Sample = m.ID, m.Sample
	for b := m.X.Content.([]byte); len(b) > 0; b = b[4:] {
		q.X = append(q.X, math.Float32frombits(binary.LittleEndian.Uint32(b)))
	}
	return q, true
}

func scoring(args []string) {
	format, how, path := args[0], args[1], ""
	if len(args) > 2 {
		path = args[2]
	}
	p := &program{format: format, in: bufio.NewReaderSize(os.Stdin, 1<<16), out: bufio.NewWriter(os.Stdout)}
	d, m := dim, samples
	hello := map[string]any{"hello": 1}
	switch how {
	case "exit at once":
		fmt.Fprintln(os.Stderr, "cannot read the data")
		os.Exit(1)
	case "no hello":
		hang()
	case "is a node":
		cfg := scorer.StreamConfig{Program: scorer.Program{Command: []string{os.Args[0], asScorer, "json", "ignores the end",
			path}}}
		if _, err := scorer.OpenStream(context.Background(), cfg); err != nil {
			panic(err)
		}
		fmt.Println("ready")
		hang()
	case "ignores the end":
		if err := os.WriteFile(path, fmt.Append(nil, os.Getpid()), 0o600); err != nil {
			panic(err)
		}
	case "banner":
		p.raw("Loading the model, please wait\n")
	case "other samples", "other data":
		// The hello of the second process differs from the hello of every other process.
		if how == "other data" {
			hello["data"] = "0d1"
		}
		if _, err := os.Stat(path); err == nil {
			if hello["data"] != nil {
				hello["data"] = "0d2"
			} else {
				m++
			}
			os.Remove(path)
		} else if err := os.WriteFile(path, nil, 0o600); err != nil {
			panic(err)
		}
	case "ignores SIGTERM":
		signal.Ignore(syscall.SIGTERM)
	case "dies for good":
		if _, err := os.Stat(path); err == nil {
			os.Exit(7)
		}
	}
	hello["dim"], hello["samples"] = d, m
	p.send(hello)
	p.flush()
	for {
		q, ok := p.receive()
		if !ok {
			if how == "ignores SIGTERM" || how == "ignores the end" {
				hang()
			}
			return
		}
		switch {
		case q.X[0] == trigger:
			misbehave(p, how, path, q)
		default:
			p.send(map[string]any{"id": q.ID, "loss": lossOf(q.X, q.Sample)})
		}
		if p.in.Buffered() == 0 {
			p.flush()
		}
	}
}
