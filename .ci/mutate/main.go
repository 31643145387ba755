// Command mutate checks that the tests detect mutations. It copies the project to temporary directories, applies one
// mutation at a time, and runs the tests that should detect it until one fails. It prints the name of each mutation and
// whether it was detected. The command fails if any mutation is not detected, no longer fits the source or does not
// compile.
//
//	go run ./.ci/mutate            tests all mutations in a few minutes, with one worker per processor
//	go run ./.ci/mutate penalty    tests the mutations with this word in their name
//	go run ./.ci/mutate 2/3        tests every third mutation, starting with the second
//	go run ./.ci/mutate -fits      runs no tests, but checks that each mutation fits the source, and each suite names tests
//
// Tests against golden values are excluded: they detect any change in the output but do not show what is wrong.
package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

func run(words []string) error {
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return fmt.Errorf("go list: %w", err)
	}
	if slices.Equal(words, []string{"-fits"}) {
		return fits(strings.TrimSpace(string(root)))
	}
	var chosen []mutation
	var suites []suite // for each package, the tests of all its suites, because linking takes longer than most suites
	part, parts := 1, 1
	if len(words) == 1 {
		if _, err := fmt.Sscanf(words[0], "%d/%d", &part, &parts); err == nil {
			words = nil
		}
	}
	if part < 1 || part > parts {
		return fmt.Errorf("the part is %d/%d, want 1/%d to %d/%d", part, parts, parts, parts, parts)
	}
	for i, m := range mutations {
		if i%parts != part-1 || len(words) > 0 && !slices.ContainsFunc(words, func(w string) bool { return strings.Contains(m.name, w) }) {
			continue
		}
		chosen = append(chosen, m)
		at := slices.IndexFunc(suites, func(s suite) bool { return s.pkg == m.by.pkg })
		if at < 0 {
			suites = append(suites, m.by)
		} else if !strings.Contains("|"+suites[at].run+"|", "|"+m.by.run+"|") {
			suites[at].run += "|" + m.by.run
		}
	}
	if len(chosen) == 0 {
		return fmt.Errorf("no mutation has a name that contains any of %q", words)
	}
	start := time.Now()
	work, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	// Each worker has its own copy of the project. With a single copy, only one mutation could be tested at a time, and
	// most processors would be idle while one package is tested.
	copies := make([]string, runtime.NumCPU())
	for i := range copies {
		copies[i] = filepath.Join(work, strconv.Itoa(i))
		if err := copyTree(copies[i], strings.TrimSpace(string(root))); err != nil {
			return err
		}
	}
	unsound := each(copies, suites, func(copied string, s suite) error {
		failed, err := test(copied, s)
		if err != nil || len(failed) > 0 {
			return errors.Join(fmt.Errorf("%s: these tests fail: %v", s.pkg, failed), err)
		}
		return nil
	})
	if len(unsound) > 0 {
		return fmt.Errorf("these suites fail without a mutation; fix them first: %w", errors.Join(unsound...))
	}
	bad := len(each(copies, chosen, func(copied string, m mutation) error {
		failed, err := plant(copied, m)
		switch {
		case err != nil:
			fmt.Printf("INVALID   %s: %v\n", m.name, err)
			return err
		case len(failed) == 0:
			fmt.Printf("SURVIVED  %s (%s)\n", m.name, m.file)
			return errors.New("not detected")
		}
		fmt.Printf("detected  %s: by %s\n", m.name, strings.Join(failed, ", "))
		return nil
	}))
	fmt.Printf("%d mutations, %d detected, in %.0f s\n", len(chosen), len(chosen)-bad, time.Since(start).Seconds())
	if bad > 0 {
		return fmt.Errorf("%d mutations were not detected", bad)
	}
	return nil
}

// fits reports every mutation whose old text does not occur exactly once in its file, and every part of a suite's
// pattern that names no test.
func fits(root string) error {
	var errs []error
	checked := map[suite]bool{}
	for _, m := range mutations {
		_, err := m.find(root)
		errs = append(errs, err)
		if !checked[m.by] {
			errs = append(errs, m.by.check(root))
		}
		checked[m.by] = true
	}
	return errors.Join(errs...)
}

var function = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Example)\w*)\(`)

// check returns an error for each alternative of the pattern that matches no test of the package.
func (s suite) check(root string) error {
	files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(s.pkg), "*_test.go"))
	var tests []string
	for _, f := range files {
		text, errRead := os.ReadFile(f)
		err = errors.Join(err, errRead)
		for _, name := range function.FindAllSubmatch(text, -1) {
			tests = append(tests, string(name[1]))
		}
	}
	for pattern := range strings.SplitSeq(s.run, "|") {
		name, _, _ := strings.Cut(pattern, "/") // what follows are subtests
		if !slices.ContainsFunc(tests, regexp.MustCompile(name).MatchString) {
			err = errors.Join(err, fmt.Errorf("suites.go: %q names no test of package %s", pattern, s.pkg))
		}
	}
	return err
}

// find returns the original content of the file that m changes. It fails unless m's old text occurs exactly once in
// this file.
func (m mutation) find(root string) (sound []byte, err error) {
	sound, err = os.ReadFile(filepath.Join(root, filepath.FromSlash(m.file)))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.name, err)
	}
	if n := strings.Count(string(sound), m.old); n != 1 {
		return nil, fmt.Errorf("%s: %q occurs %d times in %s, want once", m.name, m.old, n, m.file)
	}
	return sound, nil
}

// each calls do(folder, item) for every item and returns all errors. It uses one worker per folder.
func each[Item any](folders []string, items []Item, do func(folder string, i Item) error) []error {
	next := make(chan Item)
	failed := make(chan error)
	var workers sync.WaitGroup
	for _, folder := range folders {
		workers.Go(func() {
			for i := range next {
				if err := do(folder, i); err != nil {
					failed <- err
				}
			}
		})
	}
	go func() {
		for _, i := range items {
			next <- i
		}
		close(next)
		workers.Wait()
		close(failed)
	}()
	var errs []error
	for err := range failed {
		errs = append(errs, err)
	}
	return errs
}

// copyTree copies the project from one folder to another, without .git.
func copyTree(to, from string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		switch {
		case d.Name() == ".git" && d.IsDir():
			return filepath.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, name), 0o700)
		case !d.Type().IsRegular() || d.Name() == ".git":
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, name), data, 0o600)
	})
}

// plant applies one mutation, runs the tests that should detect it, and reverts it. It returns the tests that failed.
func plant(root string, m mutation) (failed []string, err error) {
	path := filepath.Join(root, filepath.FromSlash(m.file))
	sound, err := m.find(root)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(sound), m.old, m.new, 1)), 0o600); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.WriteFile(path, sound, 0o600)) }()
	return test(root, m.by)
}

var failure = regexp.MustCompile(`(?m)^--- FAIL: (\w+)`)

// test runs a suite and returns the names of the tests that failed. It returns an error if there is no result because
// the tests did not compile, did not end, or do not exist.
func test(root string, s suite) ([]string, error) {
	cmd := exec.Command("go", "test", "-short", "-count=1", "-failfast", "-timeout=180s", "-vet=off", "-trimpath", "-run", s.run, "-skip", "Golden", ".")
	cmd.Dir = filepath.Join(root, filepath.FromSlash(s.pkg)) // a nested module runs only from there
	out, err := cmd.CombinedOutput()
	text := string(out)
	var failed []string
	for _, f := range failure.FindAllStringSubmatch(text, -1) {
		failed = append(failed, f[1])
	}
	switch {
	case strings.Contains(text, "no tests to run"):
		return nil, fmt.Errorf("no test in package %s matches %q", s.pkg, s.run)
	case err != nil && len(failed) == 0, strings.Contains(text, "test timed out"):
		return failed, fmt.Errorf("go test: %w\n%.2000s", err, text)
	}
	return failed, nil
}
