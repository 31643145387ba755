package main

import (
	"fmt"
	"slices"
	"strings"
)

type target struct {
	os, arch, variant string
}

func on(os, arch, variant string) target { return target{os: os, arch: arch, variant: variant} }

var targets = []target{
	on("linux", "amd64", ""), on("linux", "386", ""), on("linux", "arm64", ""),
	on("linux", "arm", "5"), on("linux", "arm", "6"), on("linux", "arm", "7"),
	on("linux", "riscv64", ""), on("linux", "mips", "softfloat"), on("linux", "mipsle", "softfloat"),
	on("darwin", "amd64", ""), on("darwin", "arm64", ""), on("windows", "amd64", ""), on("windows", "arm64", ""),
}

func (t target) String() string {
	return strings.TrimSuffix(t.os+"/"+t.arch+"/"+t.variant, "/")
}

func (t target) file(program string) string {
	name := strings.ReplaceAll(program+"-"+t.String(), "/", "-")
	if t.os == "windows" {
		name += ".exe"
	}
	return name
}

// env returns the environment variables that a build for the target needs.
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

// parseTargets parses a list of targets, separated by commas. An empty list means all targets.
func parseTargets(list string) ([]target, error) {
	if list == "" {
		return targets, nil
	}
	var found []target
	for name := range strings.SplitSeq(list, ",") {
		i := slices.IndexFunc(targets, func(t target) bool { return t.String() == name })
		if i < 0 {
			return nil, fmt.Errorf("unknown target %q, want one or more of %v", name, targets)
		}
		found = append(found, targets[i])
	}
	return found, nil
}
