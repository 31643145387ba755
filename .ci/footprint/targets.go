package main

import (
	"fmt"
	"slices"
	"strings"
)

// target is what a build is for.
type target struct {
	os, arch, variant string
	whole             bool // a plain build, though the target is a board
	small             bool // as for a board, though the target is none
}

// targets are the ones that a release has.
var targets = []target{
	{"linux", "amd64", "", false, false}, {"linux", "386", "", false, false}, {"linux", "arm64", "", false, false},
	{"linux", "arm", "5", false, false}, {"linux", "arm", "6", false, false}, {"linux", "arm", "7", false, false},
	{"linux", "riscv64", "", false, false}, {"linux", "mips", "softfloat", false, false}, {"linux", "mipsle", "softfloat", false, false},
	{"darwin", "amd64", "", false, false}, {"darwin", "arm64", "", false, false}, {"windows", "amd64", "", false, false}, {"windows", "arm64", "", false, false},
}

func (t target) String() string {
	name := strings.TrimSuffix(t.os+"/"+t.arch+"/"+t.variant, "/")
	if t.whole {
		name += "/whole"
	}
	return name
}

// file names the program for the target.
func (t target) file() string {
	name := strings.ReplaceAll("spade-edge-"+t.String(), "/", "-")
	if t.os == "windows" {
		name += ".exe"
	}
	return name
}

// env is the environment of a build, beside the one there is.
func (t target) env() []string {
	env := []string{"CGO_ENABLED=0", "GOFLAGS=", "GOEXPERIMENT=", "GOOS=" + t.os, "GOARCH=" + t.arch}
	switch t.arch {
	case "arm":
		env = append(env, "GOARM="+t.variant)
	case "mips", "mipsle":
		env = append(env, "GOMIPS="+t.variant)
	}
	return env
}

// parseTargets reads a list of targets; an empty one means all. "/whole" after a board makes it a plain build, for boards
// with an operating system that has room.
func parseTargets(list string) ([]target, error) {
	if list == "" {
		return targets, nil
	}
	var found []target
	for name := range strings.SplitSeq(list, ",") {
		name, whole := strings.CutSuffix(name, "/whole")
		i := slices.IndexFunc(targets, func(t target) bool { return t.String() == name })
		if i < 0 {
			return nil, fmt.Errorf("target %q, want some of %v", name, targets)
		}
		found = append(found, targets[i])
		found[len(found)-1].whole = whole
	}
	return found, nil
}
