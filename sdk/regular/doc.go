// Package regular opens files that others may have placed. A pipe, a device or a file that is too long is an error at once: it
// neither blocks nor fills the memory.
//
//	text, err := regular.Read("ledger.json.neighbors", 1<<30)
//
// [Open] checks type and size before and after opening, and opens with O_NONBLOCK: a pipe that replaces the file in between
// does not block either.
package regular
