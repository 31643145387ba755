package sweep

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
)

// Origin describes how results were computed.
type Origin struct {
	Command string `json:"command"`
	Commit  string `json:"commit"` // of the code, "unknown" outside a repository
	Machine string `json:"machine"`
	Go      string `json:"go"`
}

// NewOrigin describes this execution of the program.
func NewOrigin() Origin {
	o := Origin{
		Commit: "unknown", Go: runtime.Version(),
		Machine: fmt.Sprintf("%s/%s, %d processors, %s", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), processor()),
	}
	if out, err := exec.Command("git", "rev-parse", "HEAD").Output(); err == nil {
		o.Commit = strings.TrimSpace(string(out))
	}
	command := []string{"go run ."}
	if info, ok := debug.ReadBuildInfo(); ok {
		command[0] += strings.TrimPrefix(info.Path, info.Main.Path)
	}
	for _, arg := range os.Args[1:] {
		if filepath.IsAbs(arg) { // a path of this machine means nothing to other people
			arg = "DIR"
		}
		command = append(command, arg)
	}
	o.Command = strings.Join(command, " ")
	return o
}

// String returns the origin as a Markdown list.
func (o Origin) String() string {
	return fmt.Sprintf("- command: `%s`\n- commit: `%s`\n- machine: %s, %s\n", o.Command, o.Commit, o.Machine, o.Go)
}

// processor returns the kernel's name for the processor, or "" if the name is unknown.
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
