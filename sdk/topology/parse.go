package topology

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode"

	"github.com/spade-dfl/spade-edge/sdk/graph"
	"github.com/spade-dfl/spade-edge/sdk/regular"
	"github.com/spade-dfl/spade-edge/zoest/rng"
	"github.com/spade-dfl/spade-edge/zoest/vec"
)

const legal = "ring, complete, star, path, grid:RxC, er:P, regular:K or file:F"

const mostEdges = 1 << 30 // largest size of a file of edges, in bytes

// Parse returns the graph on n nodes that spec describes:
//
//	ring       0-1-...-(n-1)-0; on two nodes a single edge
//	complete   every pair
//	star       node 0 with every other node
//	path       0-1-...-(n-1)
//	grid:RxC   R rows of C nodes, node r*C+c linked to its neighbors left, right, above and below; R*C must be n
//	er:P       Erdos-Renyi: each pair with probability P in (0, 1], drawn from seed until connected
//	regular:K  each node with K other nodes, 2 <= K < n, drawn from seed until connected; K is even if n is odd
//	file:F     the text file F: one edge "i j" per line, nodes counted from 0, "#" starts a comment; see also [ParseNamed]
//
// With n = 1, every kind gives the single node, except regular and a grid larger than 1x1. Only er and regular use
// seed. Errors name the lines of a file.
func Parse(spec string, n int, seed uint64) (*graph.Graph, error) {
	return parseNamed(spec, n, nil, seed)
}

// ParseNamed is like [Parse] for nodes with names, whose order gives the numbers. A file may name the two nodes of a
// line, or give their numbers unless the name of a node is itself a number.
func ParseNamed(spec string, names []string, seed uint64) (*graph.Graph, error) {
	return parseNamed(spec, len(names), names, seed)
}

func parseNamed(spec string, n int, names []string, seed uint64) (*graph.Graph, error) {
	g, err := parse(spec, n, names, seed)
	if err != nil {
		return nil, fmt.Errorf("graph: %.80q: %w", spec, err)
	}
	return g, nil
}

func parse(spec string, n int, names []string, seed uint64) (*graph.Graph, error) {
	if err := graph.CheckSize(n, 0); err != nil {
		return nil, err
	}
	kind, arg, hasArg := strings.Cut(spec, ":")
	switch kind {
	case "ring", "complete", "star", "path":
		if hasArg {
			return nil, fmt.Errorf("found %.40q after %s, wanted nothing", ":"+arg, kind)
		}
	case "grid", "er", "regular", "file":
		if arg == "" {
			return nil, fmt.Errorf("found no value after %s, wanted %s", kind, legal)
		}
	}
	var edges [][2]int
	switch kind {
	case "ring", "path":
		for j := 1; j < n; j++ {
			edges = append(edges, [2]int{j - 1, j})
		}
		if kind == "ring" && n > 2 {
			edges = append(edges, [2]int{0, n - 1})
		}
	case "star":
		for j := 1; j < n; j++ {
			edges = append(edges, [2]int{0, j})
		}
	case "complete":
		if err := graph.CheckSize(n, pairs(n)); err != nil {
			return nil, err
		}
		for i := range n {
			for j := i + 1; j < n; j++ {
				edges = append(edges, [2]int{i, j})
			}
		}
	case "grid":
		return grid(arg, n)
	case "er":
		return erdosRenyi(arg, n, seed)
	case "regular":
		degree, err := strconv.Atoi(arg)
		if err != nil {
			return nil, fmt.Errorf("found %.40q neighbors, wanted a number of 2 or more", arg)
		}
		return graph.Regular(n, degree, seed)
	case "file":
		f, err := regular.Open(arg, os.O_RDONLY, 0, mostEdges)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return readEdges(f, arg, n, names)
	default:
		return nil, fmt.Errorf("found an unknown kind, wanted %s", legal)
	}
	return graph.Build(n, edges, nil)
}

func pairs(n int) int64 { return int64(n) * int64(n-1) / 2 }

func grid(arg string, n int) (*graph.Graph, error) {
	rs, cs, _ := strings.Cut(arg, "x")
	rows, errR := strconv.Atoi(rs)
	cols, errC := strconv.Atoi(cs)
	if errR != nil || errC != nil || rows < 1 || cols < 1 {
		return nil, fmt.Errorf("found size %.40q, wanted RxC with R and C at least 1, such as 3x4", arg)
	}
	if n%rows != 0 || n/rows != cols {
		return nil, fmt.Errorf("found %d rows and %d columns for %d nodes, wanted rows times columns to equal the "+
			"number of nodes", rows, cols, n)
	}
	return graph.Build(n, graph.GridEdges(rows, cols), nil)
}

func erdosRenyi(arg string, n int, seed uint64) (*graph.Graph, error) {
	p, err := strconv.ParseFloat(arg, 64)
	if err != nil || !(p > 0 && p <= 1) {
		return nil, fmt.Errorf("found probability %.40q, wanted a number in (0, 1]", arg)
	}
	// Twice the expected number of edges leaves room for chance.
	if err := graph.CheckSize(n, min(pairs(n), int64(2*p*float64(pairs(n))))); err != nil {
		return nil, fmt.Errorf("probability %v may give too many edges: %w", p, err)
	}
	for round := range graph.Draws {
		s := rng.New(seed, rng.Address{Purpose: rng.Graph, Round: uint32(round)})
		if g, err := graph.Build(n, erEdges(&s, p, n), nil); !errors.Is(err, graph.ErrDisconnected) {
			return g, err
		}
	}
	return nil, fmt.Errorf("none of %d random graphs on %d nodes was connected; use a larger P: below ln(n)/n = %.3g "+
		"most graphs are not connected", graph.Draws, n, vec.Log(float64(n))/float64(n))
}

// erEdges draws each pair with probability p, in time proportional to the number drawn: the number of skipped pairs is
// geometric (Batagelj and Brandes, "Efficient generation of large random networks", Phys. Rev. E 71, 2005). Pairs run
// (0,1), (0,2), (1,2), (0,3), ..., so the result is not in ascending order.
func erEdges(s *rng.Stream, p float64, n int) [][2]int {
	logQ := vec.Log(1 - p) // -Inf for p = 1: skips nothing
	if logQ == 0 {
		return nil // p is below 2^-53: expect no edge
	}
	var edges [][2]int
	left := pairs(n) // undecided pairs
	i, j := -1, 1    // last decided pair
	for {
		skip := vec.Log(1-s.Float64()) / logQ
		if skip >= float64(left) {
			return edges
		}
		step := int64(skip) + 1
		left -= step
		for int64(i)+step >= int64(j) {
			step -= int64(j - i)
			i, j = 0, j+1
		}
		i += int(step)
		edges = append(edges, [2]int{i, j})
	}
}

func readEdges(r io.Reader, file string, n int, names []string) (*graph.Graph, error) {
	var edges [][2]int
	var lines []int // edge k is from line lines[k]
	var faults []error
	line, find := 0, finder(names)
	for in := bufio.NewScanner(r); len(faults) < graph.MaxFaults; {
		line++
		if !in.Scan() {
			if err := in.Err(); err != nil {
				return nil, fmt.Errorf("%s:%d: %w", file, line, err)
			}
			break
		}
		text, _, _ := strings.Cut(in.Text(), "#")
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		if len(edges) == graph.MaxEdges {
			return nil, fmt.Errorf("%s:%d: found too many edges, wanted at most %d", file, line, graph.MaxEdges)
		}
		edge, ok := splitEdge(text, find)
		if !ok {
			want := `two node numbers such as "0 1"`
			if len(names) > 1 {
				want = fmt.Sprintf("two members such as %q", names[0]+" "+names[1])
			}
			faults = append(faults, fmt.Errorf("%s:%d: found %.40q, wanted %s", file, line, text, want))
			continue
		}
		edges, lines = append(edges, edge), append(lines, line)
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	return graph.Build(n, edges, func(k int) string { return fmt.Sprintf("%s:%d", file, lines[k]) })
}

// splitEdge parses a line with two nodes, separated by white space. Names may contain white space, too.
func splitEdge(text string, find func(string) (int, bool)) (edge [2]int, ok bool) {
	for k, r := range text {
		if !unicode.IsSpace(r) {
			continue
		}
		i, okI := find(text[:k])
		j, okJ := find(strings.TrimSpace(text[k:]))
		if okI && okJ {
			return [2]int{i, j}, true
		}
	}
	return edge, false
}

// finder returns a function that returns the node with the given name or number. If a name is a number, the function
// accepts only names, because a number would be ambiguous.
func finder(names []string) func(string) (int, bool) {
	index, numbers := make(map[string]int, len(names)), true
	for i, name := range names {
		index[name] = i
		_, err := strconv.Atoi(name)
		numbers = numbers && err != nil
	}
	return func(text string) (int, bool) {
		if i, ok := index[text]; ok || !numbers {
			return i, ok
		}
		i, err := strconv.Atoi(text)
		return i, err == nil
	}
}
