// Package regular opens the files that somebody else may have put there. A pipe, a device or a file without end in the place
// of a state, a key or a data set is an error at once: it neither blocks nor fills the memory.
//
//	text, err := regular.Read("ledger.json.neighbors", 1<<30)
//
// [Open] checks type and size before it opens, and again of what it has opened, with O_NONBLOCK in between: a file that is
// replaced by a pipe at that moment does not block either.
package regular
