package main

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// leaveCode gives back the memory of the program's own code, for a node that waits: much of it only the start has run, which parses
// files and derives keys. The pages are the program file's, unchanged, and what is needed after all is read again. It is a large part of
// what an idle node holds.
func leaveCode() {
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		return
	}
	defer maps.Close()
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		// 00010000-00438000 r-xp 00000000 fd:01 1234 /usr/bin/spade-edge
		fields := strings.Fields(lines.Text())
		if len(fields) < 6 || fields[1] != "r-xp" || fields[5][0] != '/' {
			continue
		}
		from, to, _ := strings.Cut(fields[0], "-")
		start, err := strconv.ParseUint(from, 16, strconv.IntSize)
		end, err2 := strconv.ParseUint(to, 16, strconv.IntSize)
		if err == nil && err2 == nil {
			_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, uintptr(start), uintptr(end-start), syscall.MADV_DONTNEED) // best effort
		}
	}
}
