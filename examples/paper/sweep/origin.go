package sweep

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
)

// Origin says in Markdown how results came about: the command, the commit of the code, and the machine.
func Origin() string {
	commit := "unknown"
	if out, err := exec.Command("git", "rev-parse", "HEAD").Output(); err == nil {
		commit = strings.TrimSpace(string(out))
	}
	command := []string{"go run ."}
	if info, ok := debug.ReadBuildInfo(); ok {
		command[0] += strings.TrimPrefix(info.Path, info.Main.Path)
	}
	return fmt.Sprintf("- command: `%s`\n- commit: `%s`\n- machine: %s/%s, %d processors, %s, %s\n",
		strings.Join(append(command, os.Args[1:]...), " "), commit, runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), processor(), runtime.Version())
}

// processor returns what the kernel calls the processor, where it says so.
func processor() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown processor"
	}
	for line := range strings.Lines(string(text)) {
		if name, ok := strings.CutPrefix(line, "model name"); ok {
			return strings.Trim(name, " \t:\n")
		}
	}
	return "unknown processor"
}
