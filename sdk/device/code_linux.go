package device

import (
	"fmt"
	"os"
	"strings"
	"syscall"
)

// releaseCode lets the system reclaim the memory of the program's code while a node waits, because much of the code
// runs only at the start. The system can read a page of code from the file again when it is needed, because these pages
// are never changed.
func releaseCode() {
	maps, _ := os.ReadFile("/proc/self/maps") // errors are ignored, because the call only saves memory
	for line := range strings.Lines(string(maps)) {
		// Each line has the form "00010000-00438000 r-xp 00000000 fd:01 1234 /usr/bin/spade-edge".
		var start, end uintptr
		fields := strings.Fields(line)
		if len(fields) < 6 || fields[1] != "r-xp" || fields[5][0] != '/' {
			continue
		}
		if n, _ := fmt.Sscanf(fields[0], "%x-%x", &start, &end); n == 2 {
			_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, start, end-start, syscall.MADV_DONTNEED)
		}
	}
}
