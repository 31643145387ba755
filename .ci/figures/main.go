// Command figures measures figures that documents state, by the commands that the documents name.
//
//	go run ./.ci/figures               all of table.go but what takes minutes
//	go run ./.ci/figures -slow         all, in half an hour
//	go run ./.ci/figures 3/20          the third twentieth, as .ci/run does with one that depends on the commit
//	go run ./.ci/figures -update       writes what is measured into the documents
//	go run ./.ci/figures -fits         only whether each entry still finds its figures in its document
//
// Run it from the root of the module. Entries that need a data set are skipped if ../shared/data does not have it. Figures
// that no machine can repeat (times, other people's programs) say in the document who measured them, when and where.
package main

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// figure is a line of a document, with a group for each figure, and the command that measures them. Commands run in a
// shell, with the program spade-edge in the PATH. pick has a group for each figure in the command's output.
type figure struct {
	file, line, command, pick string
	tolerance                 float64 // the most by which a stated figure may differ from the measured one
	needs                     string  // a folder of ../shared/data, or empty
	slow                      bool    // takes minutes
}

func main() {
	update := flag.Bool("update", false, "write the measured figures into the documents")
	fits := flag.Bool("fits", false, "measure nothing")
	slow := flag.Bool("slow", false, "also measure what takes minutes")
	flag.Parse()
	part, of := 0, 1
	if flag.NArg() > 0 {
		if _, err := fmt.Sscanf(flag.Arg(0), "%d/%d", &part, &of); err != nil || of < 1 {
			fmt.Fprintf(os.Stderr, "figures: %q is not a part such as 3/10\n", flag.Arg(0))
			os.Exit(2)
		}
	}
	dir, err := os.MkdirTemp("", "figures")
	if err == nil && !*fits {
		var text []byte
		if text, err = exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", dir, "./cmd/spade-edge").CombinedOutput(); err != nil {
			err = fmt.Errorf("%w: %s", err, text)
		}
	}
	built := err == nil
	for i, f := range table {
		if built && (i%of == part%of || *fits) {
			err = errors.Join(err, f.check(dir, *update, *fits || f.slow && !*slow))
		}
	}
	_ = os.RemoveAll(dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, "figures:", err)
		os.Exit(1)
	}
}

// check measures the figures of an entry, and compares them with the document's or, with update, writes them there.
func (f figure) check(dir string, update, fits bool) error {
	text, err := os.ReadFile(f.file)
	if err != nil {
		return err
	}
	found := regexp.MustCompile(f.line).FindAllSubmatchIndex(text, -1)
	if len(found) != 1 {
		return fmt.Errorf("%s has %d lines that match %s, want one", f.file, len(found), f.line)
	}
	if fits {
		return nil
	}
	if _, err := os.Stat(filepath.Join("../shared/data", f.needs)); f.needs != "" && err != nil {
		fmt.Printf("%s: skipped, no data in ../shared/data/%s: %s\n", f.file, f.needs, f.command)
		return nil
	}
	cmd := exec.Command("sh", "-ec", f.command)
	cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "TMPDIR="+dir)
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%s: %w", f.command, err)
	}
	measured := regexp.MustCompile(f.pick).FindSubmatch(out)
	if len(measured) != len(found[0])/2 || len(measured) == 0 {
		return fmt.Errorf("%s prints nothing that matches %s with %d figures:\n%s", f.command, f.pick, len(found[0])/2-1, out)
	}
	var wrong error
	for g := len(measured) - 1; g > 0; g-- { // backwards, so that positions stay right
		stated, now := string(text[found[0][2*g]:found[0][2*g+1]]), strings.ReplaceAll(string(measured[g]), ",", "")
		want, err1 := strconv.ParseFloat(strings.ReplaceAll(stated, ",", ""), 64)
		got, err2 := strconv.ParseFloat(now, 64)
		if err := errors.Join(err1, err2); err != nil {
			return fmt.Errorf("%s: %w", f.file, err)
		}
		fmt.Printf("%s: %s, measured %s: %s\n", f.file, stated, now, f.command)
		switch {
		case math.Abs(got-want) <= f.tolerance+1e-9:
		case update:
			text = []byte(string(text[:found[0][2*g]]) + spelled(got, stated) + string(text[found[0][2*g+1]:]))
		default:
			wrong = errors.Join(wrong, fmt.Errorf("%s states %s, measured %s (tolerance %v): %s; -update writes it", f.file, stated, now, f.tolerance, f.command))
		}
	}
	if update {
		return os.WriteFile(f.file, text, 0o644)
	}
	return wrong
}

// spelled formats v with the digits and commas of a stated figure.
func spelled(v float64, stated string) string {
	_, decimals, _ := strings.Cut(stated, ".")
	s := strconv.FormatFloat(v, 'f', len(decimals), 64)
	if strings.Contains(stated, ",") {
		for i := len(s) - 3; i > 0; i -= 3 {
			s = s[:i] + "," + s[i:]
		}
	}
	return s
}
