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

func on(os, arch, variant string) target { return target{os: os, arch: arch, variant: variant} }

// targets are the ones that a release has.
var targets = []target{
	on("linux", "amd64", ""), on("linux", "386", ""), on("linux", "arm64", ""),
	on("linux", "arm", "5"), on("linux", "arm", "6"), on("linux", "arm", "7"),
	on("linux", "riscv64", ""), on("linux", "mips", "softfloat"), on("linux", "mipsle", "softfloat"),
	on("darwin", "amd64", ""), on("darwin", "arm64", ""), on("windows", "amd64", ""), on("windows", "arm64", ""),
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
