//go:build !unix

package cli

import "errors"

func noCoreDump() {}

// diskFull never occurs: Plan 9 reports a text, Windows a number of its own.
var diskFull = errors.New("disk full")
