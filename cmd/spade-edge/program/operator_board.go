//go:build board

package program

import (
	"context"
	"errors"
	"io"
)

// operator are the commands of whoever plans and sets up fleets: on a board they say where they are.
var operator = map[string]func(context.Context, *cmdline) error{
	"demo": elsewhere, "simulate": elsewhere, "plan": elsewhere, "fit": elsewhere, "init": elsewhere,
	"inspect": elsewhere, "evaluate": elsewhere, "fleet": elsewhere, "completion": elsewhere,
}

func elsewhere(context.Context, *cmdline) error {
	return usageError{errors.New("this program was built small, for a device: give the command to spade-edge on " +
		"another computer, such as that of the fleet's operator")}
}

// beginWith are the flags that help shows of commands that have many, which are none of these.
var beginWith map[string][]string

// words is for the scripts of the command completion, which a board does not have.
func words([]string, io.Writer) {}
