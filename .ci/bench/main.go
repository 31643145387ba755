package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

var sizes = []int{10, 40, 128, 512, 4096, 65536, 1 << 20, 1 << 24}

func main() {
	ops := flag.String("op", "", "operations to time, separated by commas (default all)")
	ns := flag.String("n", "", "lengths, separated by commas (default "+fmt.Sprint(sizes)+")")
	rounds := flag.Int("rounds", 15, "samples of each contender, taken in turns; the table shows medians")
	sample := flag.Duration("sample", 2*time.Millisecond, "least duration of a sample")
	flag.Parse()
	lens := sizes
	if *ns != "" {
		lens = nil
		for _, s := range strings.Split(*ns, ",") {
			n, err := strconv.Atoi(s)
			if err != nil || n < 1 {
				fmt.Fprintf(os.Stderr, "bench: -n: %q is not a positive number\n", s)
				os.Exit(2)
			}
			lens = append(lens, n)
		}
	}
	fmt.Printf("%s, %s/%s, %s\n\n", cpuName(), runtime.GOOS, runtime.GOARCH, runtime.Version())
	for _, op := range operations {
		if *ops != "" && !slices.Contains(strings.Split(*ops, ","), op.name) {
			continue
		}
		table(op, lens, *rounds, *sample)
	}
}

// table times an operation at each length and prints a line for each contender: median nanoseconds and, against the
// first contender, how many times as long it takes. Above 1 the first is ahead.
func table(op operation, lens []int, rounds int, sample time.Duration) {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "%s\t", op.name)
	for _, n := range lens {
		fmt.Fprintf(w, "n = %d\t", n)
	}
	fmt.Fprintln(w)
	cells := make([]string, len(op.who))
	bandwidth := ""
	for _, n := range lens {
		ns := measure(op, newData(n), rounds, sample)
		for i, t := range ns {
			cells[i] += format(t)
			if i > 0 {
				cells[i] += fmt.Sprintf(" %5.2fx", t/ns[0])
			}
			cells[i] += "\t"
		}
		bandwidth += fmt.Sprintf("%.1f\t", float64(op.bytes*n)/ns[0])
	}
	for i, c := range op.who {
		fmt.Fprintf(w, "%s\t%s\n", c.name, cells[i])
	}
	fmt.Fprintf(w, "%s GB/s\t%s\n", op.who[0].name, bandwidth)
	w.Flush()
	fmt.Println()
}

// measure returns the median time of one call of each contender in nanoseconds.
func measure(op operation, d *data, rounds int, sample time.Duration) []float64 {
	calls := make([]int, len(op.who))
	for i, c := range op.who {
		for k := 1; ; k *= 2 {
			if once(c, d, k) >= sample || k >= 1<<24 {
				calls[i] = k
				break
			}
		}
	}
	times := make([][]float64, len(op.who))
	for range rounds {
		for i, c := range op.who {
			times[i] = append(times[i], float64(once(c, d, calls[i]))/float64(calls[i]))
		}
	}
	medians := make([]float64, len(op.who))
	for i, t := range times {
		slices.Sort(t)
		medians[i] = t[len(t)/2]
	}
	return medians
}

func once(c contender, d *data, k int) time.Duration {
	start := time.Now()
	c.run(d, k)
	return time.Since(start)
}

func format(ns float64) string {
	switch {
	case ns < 100:
		return fmt.Sprintf("%.1f", ns)
	case ns < 1e5:
		return fmt.Sprintf("%.0f", ns)
	}
	return fmt.Sprintf("%.0fk", ns/1e3)
}

// cpuName is what Linux calls the processor.
func cpuName() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if key, name, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(name)
		}
	}
	return "unknown processor"
}
