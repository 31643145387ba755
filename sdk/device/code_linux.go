package device

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// releaseCode lets the system reclaim the memory of the program's code while a node waits, because much of the code
// runs only at the start. The system can read a page of code from the file again when it is needed, because these pages
// are never changed.
func releaseCode() {
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		return
	}
	defer maps.Close()
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		// Each line has the form "00010000-00438000 r-xp 00000000 fd:01 1234 /usr/bin/spade-edge".
		fields := strings.Fields(lines.Text())
		if len(fields) < 6 || fields[1] != "r-xp" || fields[5][0] != '/' {
			continue
		}
		from, to, _ := strings.Cut(fields[0], "-")
		start, err := strconv.ParseUint(from, 16, strconv.IntSize)
		end, err2 := strconv.ParseUint(to, 16, strconv.IntSize)
		if err == nil && err2 == nil { // errors are ignored, because the call only saves memory
			_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, uintptr(start), uintptr(end-start), syscall.MADV_DONTNEED)
		}
	}
}
