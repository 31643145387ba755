// Package regular opens files that other users may have created. If a file is a pipe, a device or too long, [Open] and
// [Read] return an error at once: they neither block nor fill the memory.
//
//	text, err := regular.Read("ledger.json.neighbors", 1<<30)
//
// [Open] checks type and size before and after opening, and opens with O_NONBLOCK, so it does not block even if a pipe
// replaces the file between the check and the opening.
package regular
