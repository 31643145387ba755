// Package regular opens files that others may have placed. If a file is a pipe, a device or too long, it returns an
// error at once. It neither blocks nor fills the memory.
//
//	text, err := regular.Read("ledger.json.neighbors", 1<<30)
//
// [Open] checks type and size before and after opening, and opens with O_NONBLOCK, so a pipe that replaces the file in
// between does not block either.
package regular
