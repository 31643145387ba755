package scale

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spade-dfl/spade-edge/examples/paper/sweep"
)

type series struct {
	what  string
	sizes []int
	point func(x int) Point
}

var grown = []series{
	{"N, d = 10, 2 samples each", []int{100, 1000, 5000, 10_000, 20_000, 50_000}, func(x int) Point {
		return Point{Clients: x, Dim: 10, Samples: 2, Rounds: max(3, 50_000/x)}
	}},
	{"d, N = 4, 4 samples each", []int{10, 100, 1000, 10_000, 100_000, 1_000_000}, func(x int) Point {
		return Point{Clients: 4, Dim: x, Samples: 4, Rounds: max(3, 300_000/x)}
	}},
	{"m of each, N = 4, d = 10", []int{10, 100, 1000, 10_000, 30_000, 100_000}, func(x int) Point {
		return Point{Clients: 4, Dim: 10, Samples: x, Rounds: max(3, 300_000/x)}
	}},
}

// upper is the number of sizes, counted from the largest, that determine the exponent of a series. Smaller runs spend
// most of their time on startup and shutdown.
const upper = 3

// Run measures all sizes, each in a separate process, and writes README.md to the folder out. If small is true, it
// measures only as many sizes of each series as an exponent needs. command is the command line that measures one size;
// Run appends the point as JSON.
func Run(ctx context.Context, out string, small bool, log io.Writer, command ...string) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("scale: %w", err)
	}
	start := time.Now()
	return write(out, small, func(p Point) (f Figure, err error) {
		text, err := json.Marshal(p)
		if err != nil {
			return f, err
		}
		cmd := exec.CommandContext(ctx, self, append(command, string(text))...)
		cmd.Stderr = log
		answer, err := cmd.Output()
		if err == nil {
			err = json.Unmarshal(answer, &f)
		}
		if err != nil {
			return f, fmt.Errorf("scale: %s: %w", text, err)
		}
		fmt.Fprintf(log, "scale: %s: %s: %s a round, %.0f MB\n", time.Since(start).Round(time.Second), text,
			seconds(f.Round), f.MB)
		return f, nil
	})
}

// One measures the point given as JSON in text, and prints the cost as JSON to out.
func One(ctx context.Context, text string, out io.Writer) error {
	var p Point
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return fmt.Errorf("scale: %q: %w", text, err)
	}
	f, err := Measure(ctx, p)
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(f)
}

func write(out string, small bool, measure func(p Point) (Figure, error)) error {
	var b strings.Builder
	fmt.Fprintf(&b, `# How a round grows

The whole network in one process, on a ring: a round is three local steps of every client on all of its samples, and
the exchange. The loss is that of a linear model, so that what grows is the method's own work. Without noise, with each
client's own, and with noise that neighbors cancel (colluders 1); no rounds of mixing. The time is the best of three;
memory is the most that the process had, data included. Exponents p of size^p are by least squares through the
logarithms of the last %d sizes; 1 is growth in proportion.
`, upper)
	var powers, room []float64
	for _, s := range grown {
		fmt.Fprintf(&b, "\n| %s |", s.what)
		for _, form := range Forms {
			fmt.Fprintf(&b, " %s: a round | MB |", form)
		}
		b.WriteString("\n|--:|" + strings.Repeat("--:|--:|", len(Forms)) + "\n")
		sizes := s.sizes
		if small {
			sizes = sizes[:upper]
		}
		var xs []float64
		times, mbs := make([][]float64, len(Forms)), make([][]float64, len(Forms))
		for _, x := range sizes {
			xs = append(xs, float64(x))
			fmt.Fprintf(&b, "| %d |", x)
			for i, form := range Forms {
				p := s.point(x)
				p.Form = form
				f, err := measure(p)
				if err != nil {
					return err
				}
				fmt.Fprintf(&b, " %s | %.0f |", seconds(f.Round), f.MB)
				times[i], mbs[i] = append(times[i], f.Round), append(mbs[i], f.MB)
			}
			b.WriteString("\n")
		}
		b.WriteString("| exponent |")
		last := len(xs) - upper
		for i := range Forms {
			powers = append(powers, exponent(xs[last:], times[i][last:]))
			room = append(room, exponent(xs[last:], mbs[i][last:]))
			fmt.Fprintf(&b, " %.2f | %.2f |", powers[len(powers)-1], room[len(room)-1])
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "\n**What it shows:** the exponents of time are %.2f to %.2f, and those of memory at most %.2f.\n",
		slices.Min(powers), slices.Max(powers), slices.Max(room))
	b.WriteString("\n" + sweep.NewOrigin().String())
	if err := os.MkdirAll(out, 0o755); err != nil {
		return fmt.Errorf("scale: %w", err)
	}
	return os.WriteFile(filepath.Join(out, "README.md"), []byte(b.String()), 0o644)
}

func seconds(s float64) string {
	switch {
	case s < 1e-3:
		return fmt.Sprintf("%.3g us", s*1e6)
	case s < 1:
		return fmt.Sprintf("%.3g ms", s*1e3)
	}
	return fmt.Sprintf("%.3g s", s)
}

// exponent fits the power law y = c*x^p to the points and returns p.
func exponent(x, y []float64) float64 {
	var mx, my, xx, xy float64
	for i := range x {
		mx += math.Log(x[i]) / float64(len(x))
		my += math.Log(y[i]) / float64(len(x))
	}
	for i := range x {
		dx := math.Log(x[i]) - mx
		xx += dx * dx
		xy += dx * (math.Log(y[i]) - my)
	}
	return xy / xx
}
