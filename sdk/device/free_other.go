//go:build !(linux || darwin || freebsd)

package device

// Free reports on this system that the free space of a disk is not known.
func Free(string) (bytes int64, known bool) { return 0, false }
