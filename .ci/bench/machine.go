package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

func describe(b *bench) {
	fmt.Printf("- Machine: %s, %d processors, %s; %s/%s, %s.\n", cpuName(), runtime.NumCPU(), memory(), runtime.GOOS,
		runtime.GOARCH, runtime.Version())
	fmt.Printf("- Others: %s; %s; %s; numpy %s.\n", firstLine("cc", "--version"), firstLine("strace", "-V"),
		firstLine("python3", "--version"), b.numpyName)
	fmt.Printf("- A sync of 4 KiB in the folder for temporary files takes %v.\n", b.syncTime())
	fmt.Printf("- Data: %s.\n", b.dataName)
}

func cpuName() string {
	name, family := "unknown processor", ""
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(line, ":")
		switch key, value = strings.TrimSpace(key), strings.TrimSpace(value); key {
		case "model name":
			name = value
		case "cpu family":
			family += ", family " + value
		case "model":
			family += ", model " + value
		case "":
			return name + family
		}
	}
	return name + family
}

func memory() string {
	text, _ := os.ReadFile("/proc/meminfo")
	var kb float64
	if _, err := fmt.Sscanf(string(text), "MemTotal: %f kB", &kb); err != nil {
		return "unknown memory"
	}
	return fmt.Sprintf("%.0f GiB", kb/(1<<20))
}

// load returns the load average over the last minute.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	first, _, _ := strings.Cut(string(text), " ")
	return first
}

// firstLine returns the first line that a program prints, or a note that the program is missing.
func firstLine(name string, args ...string) string {
	text, err := exec.Command(name, args...).Output()
	if err != nil {
		return "no " + name
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return line
}

// syncTime measures several syncs of a file to disk and returns the shortest time.
func (b *bench) syncTime() time.Duration {
	f, err := os.CreateTemp(b.dir, "sync")
	if err != nil {
		return 0
	}
	defer f.Close()
	best := time.Hour
	for range 20 {
		start := time.Now()
		if _, err := f.WriteAt(make([]byte, 4096), 0); err != nil || f.Sync() != nil {
			return 0
		}
		best = min(best, time.Since(start))
	}
	return best.Round(time.Microsecond)
}
