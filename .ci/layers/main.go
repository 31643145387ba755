// Command layers draws the packages of the root module in sdk/ARCHITECTURE.md, from their imports: three houses, and in
// each house a line for each layer. It fails if an import goes up from one house to another, or if the drawing in the
// file differs; with -update, it rewrites the drawing.
package main

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
)

const (
	module = "github.com/spade-dfl/spade-edge/"
	file   = "sdk/ARCHITECTURE.md"
	begin  = "<!-- drawn by go run ./.ci/layers -update -->\n```\n"
	end    = "```\n<!-- end of the drawing -->\n"
)

// houses from the top to the bottom. A package may import its own house and those below.
var houses = [3]string{"the program", "for those who run fleets", "the core: what an embedder links"}

// core lists the packages whose dependencies are the core.
var core = []string{"sdk/edge", "transport/mem"}

func main() {
	update := flag.Bool("update", false, "rewrite the drawing in "+file)
	flag.Parse()
	if err := run(*update); err != nil {
		fmt.Fprintln(os.Stderr, "layers:", err)
		os.Exit(1)
	}
}

func run(update bool) error {
	imports, err := list()
	if err != nil {
		return err
	}
	drawing, err := draw(imports)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	before, rest, found := strings.Cut(string(text), begin)
	old, after, closed := strings.Cut(rest, end)
	switch {
	case !found || !closed:
		return fmt.Errorf("%s has no place for the drawing, between %q and %q", file, begin, end)
	case update:
		return os.WriteFile(file, []byte(before+begin+drawing+end+after), 0o644)
	case old != drawing:
		return fmt.Errorf("%s has another drawing than the imports give: go run ./.ci/layers -update rewrites it\n%s", file, drawing)
	}
	return nil
}

// list returns what each package imports from this module. Examples are left out.
func list() (map[string][]string, error) {
	out, err := exec.Command("go", "list", "-f", "{{.ImportPath}} {{join .Imports \" \"}}", "./...").Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	imports := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		paths := strings.Fields(line)
		name := strings.TrimPrefix(paths[0], module)
		if strings.HasPrefix(name, "examples/") {
			continue
		}
		imports[name] = []string{}
		for _, path := range paths[1:] {
			if to, ours := strings.CutPrefix(path, module); ours {
				imports[name] = append(imports[name], to)
			}
		}
	}
	return imports, nil
}

// draw returns the drawing, or an error that names each import that goes up.
func draw(imports map[string][]string) (string, error) {
	house := map[string]int{}
	var link func(name string)
	link = func(name string) {
		house[name] = 2
		for _, to := range imports[name] {
			link(to)
		}
	}
	for _, name := range core {
		link(name)
	}
	for name := range imports {
		if strings.HasPrefix(name, "cmd/") {
			house[name] = 0
		} else if house[name] != 2 {
			house[name] = 1
		}
	}
	// A layer is one above the highest layer of the same house that it imports.
	layer := map[string]int{}
	var height func(name string) int
	height = func(name string) int {
		if layer[name] == 0 {
			layer[name] = 1
			for _, to := range imports[name] {
				if house[to] == house[name] {
					layer[name] = max(layer[name], 1+height(to))
				}
			}
		}
		return layer[name]
	}
	var errs []error
	names := slices.Sorted(maps.Keys(imports))
	lines := [len(houses)]map[int][]string{{}, {}, {}}
	for _, name := range names {
		for _, to := range imports[name] {
			if house[to] < house[name] {
				errs = append(errs, fmt.Errorf("%s imports %s: from %q up to %q", name, to, houses[house[name]], houses[house[to]]))
			}
		}
		at := lines[house[name]]
		at[height(name)] = append(at[height(name)], strings.TrimPrefix(name, "cmd/spade-edge/"))
	}
	var text strings.Builder
	for h, title := range houses {
		fmt.Fprintf(&text, "--- %s %s\n", title, strings.Repeat("-", 80-len(title)))
		for _, l := range slices.Backward(slices.Sorted(maps.Keys(lines[h]))) {
			row := "   "
			for _, name := range lines[h][l] {
				if len(row)+1+len(name) > 110 {
					text.WriteString(row + "\n")
					row = "   "
				}
				row += " " + name
			}
			text.WriteString(row + "\n")
		}
	}
	return text.String(), errors.Join(errs...)
}
