package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// linkedFile lists the packages that an embedded node adds to a program which already links TLS, websockets and CBOR.
// Each line has a package and the reason why a node needs it.
const linkedFile = ".ci/footprint/linked.txt"

const linkedHead = `# The packages that embedws links and bare does not, on linux/amd64, and what each is for.
# "go run ./.ci/footprint -linked -update" rewrites the list; the words are written by hand.
`

// unexplained is the placeholder for a missing reason.
const unexplained = "?"

// checkLinked fails if the packages that a node adds to an embedder differ from the list in linkedFile, or if the
// embedder looks up a method by a non-constant name, because the linker must then keep all exported methods. If update
// is true, checkLinked instead writes the list.
func checkLinked(update bool) error {
	with, err := deps("./.ci/footprint/embedws")
	if err != nil {
		return err
	}
	without, err := deps("./.ci/footprint/bare")
	if err != nil {
		return err
	}
	text, err := os.ReadFile(linkedFile)
	if err != nil && !(update && errors.Is(err, os.ErrNotExist)) {
		return err
	}
	words := make(map[string]string)
	for line := range strings.Lines(string(text)) {
		if name, what, found := strings.Cut(strings.TrimSpace(line), " "); found && name != "#" {
			words[name] = strings.TrimSpace(what)
		}
	}
	var list strings.Builder
	list.WriteString(linkedHead)
	var errs []error
	for _, p := range with {
		if slices.Contains(without, p) || strings.HasPrefix(p, module+"/.ci/") {
			continue
		}
		what, known := words[p]
		switch {
		case !known && !update:
			errs = append(errs, fmt.Errorf("an embedder links %s, which is not in %s", p, linkedFile))
		case !known:
			what = unexplained
		case what == unexplained:
			errs = append(errs, fmt.Errorf("%s does not say what %s is for", linkedFile, p))
		}
		delete(words, p)
		fmt.Fprintf(&list, "%-60s %s\n", p, what)
	}
	for p := range words {
		if !update {
			errs = append(errs, fmt.Errorf("%s lists %s, which an embedder does not link", linkedFile, p))
		}
	}
	if update {
		return errors.Join(append(errs, os.WriteFile(linkedFile, []byte(list.String()), 0o644))...)
	}
	if err := errors.Join(append(errs, checkDeadCode())...); err != nil {
		return err
	}
	fmt.Print(list.String())
	return nil
}

// deps returns the dependencies of a package on linux/amd64, sorted by name.
func deps(pkg string) ([]string, error) {
	out, err := goCommand("list", "-deps", pkg)
	names := strings.Fields(string(out))
	slices.Sort(names)
	return names, err
}

// checkDeadCode returns an error if the linker must keep every exported method of all types that are converted to an
// interface. This is the case if reachable code calls reflect's Method, or calls its MethodByName with a name that is
// not constant.
func checkDeadCode() error {
	tmp, err := os.MkdirTemp("", "footprint")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	out, err := goCommand("build", "-trimpath", "-ldflags=-dumpdep", "-o", filepath.Join(tmp, "a"), "./.ci/footprint/embedws")
	if err != nil {
		return err
	}
	if !bytes.Contains(out, []byte("main.main -> main.run")) {
		return errors.New("the linker's -dumpdep has no edge from main.main to main.run: has its format changed?")
	}
	var errs []error
	for line := range bytes.Lines(out) {
		if bytes.Contains(line, []byte("<ReflectMethod>")) {
			errs = append(errs, fmt.Errorf("the linker keeps all exported methods of an embedder, because of %s", bytes.TrimSpace(line)))
		}
	}
	return errors.Join(errs...)
}

// goCommand runs the go command for linux/amd64 and returns its output.
func goCommand(args ...string) ([]byte, error) {
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), on("linux", "amd64", "").env()...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return out, err
}
