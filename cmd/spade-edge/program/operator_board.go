//go:build board

package program

import (
	"context"
	"io"
)

// operator are the commands of whoever plans and sets up fleets: on a board they say where they are.
var operator = map[string]func(context.Context, *cmdline) error{
	"demo": elsewhere, "simulate": elsewhere, "plan": elsewhere, "fit": elsewhere, "init": elsewhere,
	"inspect": elsewhere, "evaluate": elsewhere, "fleet": elsewhere, "completion": elsewhere,
}

// beginWith are the flags that help shows of commands that have many, which are none of these.
var beginWith map[string][]string

// words is for the scripts of the command completion, which a board does not have.
func words([]string, io.Writer) {}

// paperwork is what the command privacy does that needs no device: nothing of it is here.
var paperwork map[string]func(*privacyOptions) error

const operatorZip = ""
