package main

import "slices"

// mutation is a deliberate error in the code. It replaces one text (the field old), which must occur exactly once in
// the file, with another (the field new).
type mutation struct {
	name, file, old, new string
	by                   suite
}

var mutations = slices.Concat(onMachine, onPrivacy, onNode)
