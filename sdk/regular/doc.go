// Package regular opens files that other users may have created. If a file is a pipe or a device, or is too long,
// [Open] and [Read] return an error at once: they neither block nor fill the memory.
//
//	text, err := regular.Read("ledger.json.neighbors", 1<<30)
//
// [Open] does not block even if a pipe replaces the file between the check and the opening. [Create]
// writes a new file.
package regular
