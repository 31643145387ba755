// Command describe prints the task of a fleet that trains an adapter, for "spade-edge init -task", and on standard error
// the flags that go with it:
//
//	go run ./describe -of 101770 -base base.bin random:256:1 >adapter.json
//	go run ./describe -of 101770 coords:0-9,101760-101769 >adapter.json
//	go run ./describe -of 101770 lora:2:1:fc=0:128x784 >adapter.json
//	go run ./describe -of 101770 -basis basis.bin >adapter.json
//
// base.bin has the parameters before the run, float32 in little endian, and basis.bin the rows of a basis. Both lie
// beside adapter.json: a scorer reads them from there.
package main

import (
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spade-dfl/spade-edge/examples/adapter"
)

func main() {
	if err := describe(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "describe:", err)
		os.Exit(1)
	}
}

func describe(args []string, out, log io.Writer) error {
	flags := flag.NewFlagSet("describe", flag.ContinueOnError)
	flags.SetOutput(log)
	of := flags.Int("of", 0, "the model's `parameters`, D")
	base := flags.String("base", "", "the `file` of the parameters before the run (default zeros)")
	basis := flags.String("basis", "", "the `file` of a basis, in place of a form")
	if err := flags.Parse(args); err != nil {
		return err
	}
	var s *adapter.Spec
	switch {
	case *basis != "" && flags.NArg() == 0:
		file, size, err := hashed(*basis)
		if err != nil {
			return err
		}
		s = &adapter.Spec{Form: adapter.Basis, Of: *of, Dim: int(size / 4 / int64(max(1, *of))), Basis: file}
	case *basis == "" && flags.NArg() == 1:
		var err error
		if s, err = adapter.Parse(flags.Arg(0), *of); err != nil {
			return err
		}
	default:
		return errors.New("want one form, such as random:256:1, or -basis FILE")
	}
	folder := "."
	for _, path := range []string{*basis, *base} {
		if path != "" {
			folder = filepath.Dir(path)
		}
	}
	if *base != "" {
		file, _, err := hashed(*base)
		if err != nil {
			return err
		}
		s.Base = file
	}
	if _, err := adapter.Open(*s, folder); err != nil { // checks the sizes
		return err
	}
	fmt.Fprintf(log, "spade-edge init ... -dim %d -mu %v -stream \"your program\" -task adapter.json\n", s.Dim, s.Radius())
	_, err := fmt.Fprintf(out, "%s\n", s.Program())
	return err
}

func hashed(path string) (*adapter.File, int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	sum := sha256.New()
	size, err := io.Copy(sum, f)
	return &adapter.File{File: filepath.Base(path), SHA256: fmt.Sprintf("%x", sum.Sum(nil))}, size, err
}
