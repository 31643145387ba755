package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

var sizes = []int{10, 40, 128, 512, 4096, 65536, 1 << 20, 1 << 24}

// table times an operation at each length and prints, for each contender, the median time in nanoseconds and its ratio
// to the first contender's median. A ratio above 1 means that the first contender is faster. table returns the medians
// by length and contender.
func table(op operation, lens []int, rounds int, sample time.Duration) (medians [][]float64) {
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
		medians = append(medians, ns)
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
	return medians
}

// measure returns, for each contender, the median time of one call in nanoseconds.
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

// kernelPage prints the table of all kernels. It then lists the cases in which another contender beats this project's
// kernel by more than a tenth.
func kernelPage(start time.Time) {
	fmt.Fprintf(os.Stderr, "bench: %s: kernels\n", time.Since(start).Round(time.Second))
	fmt.Print("## Kernels\n\nNanoseconds, and how many times as long as ours: above 1.00x ours is ahead.\n\n```\n")
	var behind []string
	for _, op := range operations {
		for i, ns := range table(op, sizes, 15, time.Millisecond) {
			for j, c := range op.who {
				if library := c.name == "gonum" || c.name == "vek32"; library && ns[j] < ns[0]/1.1 {
					behind = append(behind,
						fmt.Sprintf("%s at n = %d: %s takes %.2f of our time", op.name, sizes[i], c.name, ns[j]/ns[0]))
				}
			}
		}
	}
	fmt.Print("```\n\n")
	if len(behind) == 0 {
		fmt.Print("No library is more than 10 % faster at any of these lengths: ok.\n\n")
		return
	}
	fmt.Printf("A library is more than 10 %% faster: **missed**.\n\n- %s\n\n", strings.Join(behind, "\n- "))
}
