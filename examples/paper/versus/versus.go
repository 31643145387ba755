package versus

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spade-dfl/spade-edge/examples/paper/sweep"
)

// The programs, and the number of times that each program performs the job. The programs take turns, with a new seed
// each time.
const (
	paperForm = "SDK, paper's form"
	tracking  = "SDK, tracking and Walsh directions"
	numpy     = "numpy, paper's form"
	seeds     = 5
)

//go:embed network.py
var program []byte

type turn struct {
	Folder, Form string
	Seed         uint64
}

// Run performs the job with every program and writes README.md to the folder out. dataDir is the folder of the data
// sets. command is the command line that performs the job once with the SDK; Run appends the form and the seed as JSON.
func Run(ctx context.Context, dataDir, out string, log io.Writer, command ...string) error {
	folder, err := os.MkdirTemp("", "versus")
	if err != nil {
		return fmt.Errorf("versus: %w", err)
	}
	defer os.RemoveAll(folder)
	if err := prepare(dataDir, folder); err != nil {
		return fmt.Errorf("versus: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("versus: %w", err)
	}
	script := filepath.Join(folder, "network.py")
	if err := os.WriteFile(script, program, 0o600); err != nil {
		return fmt.Errorf("versus: %w", err)
	}
	python := ""
	for _, name := range []string{"python3", "/usr/bin/python3"} {
		if exec.CommandContext(ctx, name, "-c", "import numpy").Run() == nil {
			python = name
			break
		}
	}
	figures := make(map[string][]figure)
	for seed := range uint64(seeds) {
		for _, name := range []string{paperForm, tracking, numpy} {
			text, err := json.Marshal(turn{folder, name, seed + 1})
			if err != nil {
				return err
			}
			cmd := exec.CommandContext(ctx, self, append(command, string(text))...)
			if name == numpy {
				if python == "" {
					continue
				}
				cmd = exec.CommandContext(ctx, python, "-B", script, folder, fmt.Sprint(seed+1))
			}
			cmd.Stderr = log
			start := time.Now()
			answer, err := cmd.Output()
			f := figure{wall: time.Since(start).Seconds()}
			if err == nil {
				err = json.Unmarshal(answer, &f)
			}
			if err != nil {
				return fmt.Errorf("versus: %s: %w", name, err)
			}
			fmt.Fprintf(log, "versus: %s, seed %d: %.3f s, %d rounds, %.2f %%\n", name, seed+1, f.Seconds, f.Rounds,
				f.Accuracy)
			figures[name] = append(figures[name], f)
		}
	}
	m, _, _, err := read(folder)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return fmt.Errorf("versus: %w", err)
	}
	return os.WriteFile(filepath.Join(out, "README.md"), []byte(page(m, figures)+"\n"+sweep.NewOrigin().String()), 0o644)
}

// One performs the job once with the SDK and prints the result to out as JSON. text describes the job in JSON: folder,
// form and seed.
func One(ctx context.Context, text string, out io.Writer) error {
	var t turn
	if err := json.Unmarshal([]byte(text), &t); err != nil {
		return fmt.Errorf("versus: %q: %w", text, err)
	}
	f, err := learn(ctx, t.Folder, t.Form == tracking, t.Seed)
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(f)
}

func page(m meta, figures map[string][]figure) string {
	var b strings.Builder
	fmt.Fprintf(&b, `# The same job in numpy

Alzheimer's disease with the paper's %d numbers, %d clients (%s) on a graph %s, no noise, until the clients' models are %v %% right on the test set in the mean. All
programs read the same files and have the settings that package sdk picks for the paper's form with its τ of 8, and the same number of queries; each draws its own random numbers and treats
the loss as a black box. %d seeds, by turns; medians. Seconds are those of the rounds, without scoring; a process is all from start to end. Bytes of the SDK
are those of its frames, of numpy 4 a number.

| program | seconds | of the process | MB | rounds | accuracy | bytes sent |
|---|--:|--:|--:|--:|--:|--:|
`, m.Dim, len(m.Samples), partition, network, m.Goal, seeds)
	median := func(name string, of func(figure) float64) float64 {
		var xs []float64
		for _, f := range figures[name] {
			xs = append(xs, of(f))
		}
		slices.Sort(xs)
		return xs[len(xs)/2]
	}
	seconds := func(f figure) float64 { return f.Seconds }
	for _, name := range []string{paperForm, tracking, numpy} {
		if len(figures[name]) == 0 {
			fmt.Fprintf(&b, "| %s | no Python with numpy here | | | | | |\n", name)
			continue
		}
		fmt.Fprintf(&b, "| %s | %.3f | %.2f | %.0f | %.0f | %.2f | %.0f |\n", name, median(name, seconds),
			median(name, func(f figure) float64 { return f.wall }), median(name, func(f figure) float64 { return f.MB }),
			median(name, func(f figure) float64 { return float64(f.Rounds) }),
			median(name, func(f figure) float64 { return f.Accuracy }), median(name,
				func(f figure) float64 { return float64(f.Bytes) }))
	}
	if len(figures[numpy]) > 0 {
		fmt.Fprintf(&b, "\n**What it shows:** the SDK takes %.2f times as long as numpy to the same accuracy in the "+
			"paper's form, and %.2f times with tracking and "+
			"Walsh directions.\n", median(paperForm, seconds)/median(numpy, seconds), median(tracking,
			seconds)/median(numpy, seconds))
	}
	b.WriteString("\nFlower's simulation and decent-bench are not here: no package index could be reached where this " +
		"was measured.\n")
	return b.String()
}

var errStop = errors.New("versus: the requested accuracy is reached")
