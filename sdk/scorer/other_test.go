//go:build !unix

package scorer_test

import "os/exec"

func leaveGroup(*exec.Cmd) {}

func killProcess(int) {}
