//go:build !(linux || darwin || freebsd)

package state

// Free returns nothing: it is not implemented for this system.
func Free(string) (bytes int64, known bool) { return 0, false }
