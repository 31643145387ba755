package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/secret"
	"github.com/spade-dfl/spade-edge/transport/ws"
)

// These limits apply to a node that waits for a slow neighbor, and to the time from a node's start to its first query.
const (
	// The memory limits, in bytes, apply to data but not to the mapped pages of the program's file: the kernel decides
	// how many of these pages it maps, and can drop them at any time. The size of the file has a limit of its own. The
	// measured values were 2.6 to 2.8 MiB for the embedded node and 3.6 to 4.1 MiB for the program.
	maxEmbedded = 3 << 20
	maxProgram  = 9 << 19
	maxStart    = 50 * time.Millisecond
	maxShare    = 0.001 // share of one processor
)

// measureIdle measures a node with four neighbors at d = 1,000 in a separate process. Three neighbors make their
// releases. The fourth is connected but never ends its first round, so the node waits. measureIdle does this both for a
// small program that embeds a node and for the program spade-edge. It fails if the memory exceeds the limit. Times
// depend on the load of the machine, so they are only printed, next to the times of a program that just wakes up ten
// times a second.
func measureIdle(seconds int) error {
	if runtime.GOOS != "linux" {
		return errors.New("-memory reads /proc, so it works only on Linux")
	}
	tmp, err := os.MkdirTemp("", "footprint")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	native := on(runtime.GOOS, runtime.GOARCH, os.Getenv("GOARM"))
	span := time.Duration(seconds) * time.Second
	if err := measureTicker(tmp, native, span); err != nil {
		return err
	}
	var errs []error
	for _, c := range []struct {
		name, pkg string
		maxData   int64
		args      []string
	}{
		{"embedded", "./.ci/footprint/idle", maxEmbedded, nil},
		{"program", program, maxProgram, []string{"run", "-anyway"}},
	} {
		bin := filepath.Join(tmp, c.name)
		if err := build(".", c.pkg, native, bin, ""); err != nil {
			return err
		}
		m, err := lookAtIdle(filepath.Join(tmp, c.name+".trial"), bin, c.args, span)
		if err != nil {
			return err
		}
		fmt.Printf("%s: %d KiB resident (%d of them data), %d KiB at most; %.4f %% of a processor and %.1f wake-ups a "+
			"second, over %d s of waiting\n",
			c.name, m.resident>>10, m.anonymous>>10, m.peak>>10, 100*m.share, m.wakeups, seconds)
		if m.anonymous > c.maxData {
			errs = append(errs, fmt.Errorf("%s: the process has %d bytes of anonymous memory, want at most %d",
				c.name, m.anonymous, c.maxData))
		}
		if m.share > maxShare {
			fmt.Printf("%s: MISSED: want less than %v %% of a processor\n", c.name, 100*maxShare)
		}
		if m.asked > 0 {
			fmt.Printf("%s: first query %.1f ms after the start of the process\n", c.name, float64(m.asked)/1e6)
			if m.asked > maxStart {
				fmt.Printf("%s: MISSED: want the first query within %v\n", c.name, maxStart)
			}
		}
	}
	return errors.Join(errs...)
}

// measureTicker measures a program that just wakes up ten times a second. Its processor time is a lower bound for that
// of a node on this machine, because some virtual machines need milliseconds for each wake-up.
func measureTicker(dir string, native target, span time.Duration) error {
	bin := filepath.Join(dir, "ticker")
	if err := build(".", "./.ci/footprint/ticker", native, bin, ""); err != nil {
		return err
	}
	cmd := exec.Command(bin)
	if err := cmd.Start(); err != nil {
		return err
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	time.Sleep(time.Second)
	share, wakeups, err := busy(cmd.Process.Pid, span)
	if err != nil {
		return err
	}
	fmt.Printf("a program that does nothing ten times a second: %.4f %% of a processor and %.1f wake-ups a second\n",
		100*share, wakeups)
	return nil
}

type idleMeasure struct {
	resident, peak int64         // bytes
	anonymous      int64         // bytes of resident that are not pages of the program's file
	asked          time.Duration // time from the start to the first query; 0 if not printed
	share          float64       // share of one processor
	wakeups        float64       // wake-ups per second
}

func lookAtIdle(dir, bin string, args []string, span time.Duration) (m idleMeasure, err error) {
	const columns = 999 // the parameters are one per column, and a bias
	if err := os.Mkdir(dir, 0o700); err != nil {
		return m, err
	}
	if err := writeTable(filepath.Join(dir, "data.csv"), 25, columns); err != nil {
		return m, err
	}
	fleet := &sdk.Fleet{
		Run: "idle", Dim: columns + 1, Members: []string{"a", "b", "c", "d", "e"},
		Edges:   [][2]string{{"a", "b"}, {"a", "c"}, {"a", "d"}, {"a", "e"}},
		Method:  sdk.Method{Rounds: 50, Tau: 2, Batch: 8, Rho: 1, Gain: 0.4, Eta: []float64{0.05}, Mu: []float64{0.2}},
		Privacy: sdk.Privacy{Clip: 1, Sigma: 5, Delta: 1e-5},
	}
	tr, err := newTrial(dir, fleet, func(int) string {
		return `{"builtin": {"model": "softmax", "data": "csv:data.csv", "label": "class", "standardize": true, "bias": ` +
			`true, "fit": "own"}}`
	})
	if err != nil {
		return m, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	slow := fleet.Members[len(fleet.Members)-1]
	for _, name := range fleet.Members[1:] {
		stop, err := tr.startNeighbor(ctx, name, name == slow)
		if err != nil {
			return m, err
		}
		wg.Go(stop)
	}
	// All neighbors are already running, so the time until the first query depends only on the node itself.
	cmd := exec.CommandContext(ctx, bin, append(args, tr.path("a.json"))...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return m, err
	}
	var said strings.Builder
	cmd.Stderr = &said
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return m, err
	}
	defer cmd.Wait()
	defer cancel()
	wg.Go(func() {
		if line, err := bufio.NewReader(out).ReadString('\n'); err == nil && line == "asked\n" {
			m.asked = time.Since(begin)
		}
	})
	pid := cmd.Process.Pid
	time.Sleep(3 * time.Second)
	if m.share, m.wakeups, err = busy(pid, span); err != nil {
		return m, fmt.Errorf("%w\n%s", err, said.String())
	}
	status, err := fields(fmt.Sprintf("/proc/%d/status", pid))
	m.resident, m.peak, m.anonymous = status["VmRSS:"]<<10, status["VmHWM:"]<<10, status["RssAnon:"]<<10
	if _, made := os.Stat(tr.path("a.state/releases.log")); made != nil {
		return m, fmt.Errorf("the node has not made a release: %w\n%s", made, said.String())
	}
	if err == nil && m.resident == 0 {
		err = fmt.Errorf("the node ended\n%s", said.String())
	}
	return m, err
}

// startNeighbor prepares a member in this process and returns a function that runs the member until ctx ends. If slow
// is true, the member's oracle never answers the first query.
func (tr *trial) startNeighbor(ctx context.Context, name string, slow bool) (stop func(), err error) {
	key, err := secret.ReadKey(tr.path(name + ".key"))
	if err != nil {
		return nil, err
	}
	var listen string
	for _, m := range tr.file.Members {
		if m.Name == name {
			listen = strings.TrimSuffix(strings.TrimPrefix(m.Addresses[0], "wss://"), "/")
		}
	}
	conn, err := ws.New(ws.ConfigOf(tr.file, name, key, listen))
	if err != nil {
		return nil, err
	}
	loss := func(ctx context.Context, x []float32, _ int) (float64, error) {
		if slow {
			<-ctx.Done()
		}
		return float64(x[0]) * float64(x[0]), nil
	}
	node, err := sdk.New(sdk.Config{Fleet: tr.file.Fleet, Name: name, Key: key, Keys: tr.file.SigningKeys, Samples: 20,
		Oracle: sdk.OracleFunc(loss), Transport: conn})
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return func() {
		node.Run(ctx) // ends with ctx
		conn.Close()
	}, nil
}

// busy returns the fraction of one processor that a process uses, and how often per second its threads wake up.
func busy(pid int, span time.Duration) (share, wakeups float64, err error) {
	before, wakesBefore, err := usage(pid)
	if err != nil {
		return 0, 0, err
	}
	time.Sleep(span)
	after, wakesAfter, err := usage(pid)
	return float64(after-before) / float64(span), float64(wakesAfter-wakesBefore) / span.Seconds(), err
}

// usage returns the processor time that a process has used, and how many times its threads have waited.
func usage(pid int) (cpu time.Duration, waits int64, err error) {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	if err != nil || len(threads) == 0 {
		return 0, 0, errors.Join(err, fmt.Errorf("process %d has ended", pid))
	}
	for _, dir := range threads {
		text, err := os.ReadFile(filepath.Join(dir, "schedstat"))
		if err != nil {
			return 0, 0, err
		}
		first, _, _ := strings.Cut(string(text), " ")
		ns, err := strconv.ParseInt(first, 10, 64)
		if err != nil {
			return 0, 0, err
		}
		cpu += time.Duration(ns)
		status, err := fields(filepath.Join(dir, "status"))
		if err != nil {
			return 0, 0, err
		}
		waits += status["voluntary_ctxt_switches:"]
	}
	return cpu, waits, nil
}

// fields parses a file such as /proc/self/status. It returns the numeric fields by name.
func fields(path string) (map[string]int64, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	list := make(map[string]int64)
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) < 2 {
			continue
		}
		if n, err := strconv.ParseInt(words[1], 10, 64); err == nil {
			list[words[0]] = n
		}
	}
	return list, nil
}
