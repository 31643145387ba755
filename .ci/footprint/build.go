package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const (
	module  = "github.com/spade-dfl/spade-edge"
	program = "./cmd/spade-edge"
)

var stamp string

// build compiles the package pkg in the module at dir for a target, with the flags of a release. cache is the build
// cache; if it is empty, build uses the user's cache. link has additional linker flags.
func build(dir, pkg string, t target, out, cache string, link ...string) error {
	ldflags := append([]string{"-s", "-w"}, link...)
	if stamp != "" {
		ldflags = append(ldflags, "-X '"+module+"/cmd/spade-edge/internal/cli.Release="+stamp+"'")
	}
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags="+strings.Join(ldflags, " "), "-o", out, pkg)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), t.env()...)
	if cache != "" {
		cmd.Env = append(cmd.Env, "GOCACHE="+cache)
	}
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s for %s: %w\n%s", pkg, t, err, text)
	}
	return nil
}

func sumOf(path string) (size int64, sum [sha256.Size]byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, sum, err
	}
	defer f.Close()
	h := sha256.New()
	size, err = io.Copy(h, f)
	return size, [sha256.Size]byte(h.Sum(nil)), err
}

// copyModule copies the module's sources to another directory and adds an empty line to each Go file. A build of the
// copy must then compile these files anew, but still takes the standard library and the dependencies from the cache.
func copyModule(to string) error {
	return filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || path != "." && exists(filepath.Join(path, "go.mod"))):
			return filepath.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, path), 0o700)
		case !d.Type().IsRegular():
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if strings.HasSuffix(path, ".go") {
			data = append(data, '\n')
		}
		return os.WriteFile(filepath.Join(to, path), data, 0o600)
	})
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// released are the programs of a release: the folders of their modules, and their packages.
var released = [][2]string{{".", program}, {"transport/broker", "./cmd/spade-edge-nats"}, {"transport/broker", "./cmd/spade-edge-mqtt"}}

// makeRelease builds the programs for each target into dir. It prints the SHA-256 hash of every file in the format of
// sha256sum.
func makeRelease(dir string, targets []target) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	for _, t := range targets {
		for _, p := range released {
			out := filepath.Join(dir, t.file(filepath.Base(p[1])))
			if err := build(p[0], p[1], t, out, ""); err != nil {
				return err
			}
			_, sum, err := sumOf(out)
			if err != nil {
				return err
			}
			fmt.Printf("%x  %s\n", sum, filepath.Base(out))
		}
	}
	return nil
}
