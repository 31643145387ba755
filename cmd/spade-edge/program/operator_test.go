package program

import (
	"slices"
	"testing"
)

// Every command is there in every build, if only to say where it is.
func TestCommandsRun(t *testing.T) {
	for _, c := range commands {
		if c.run == nil {
			t.Errorf("%s has nothing to run", c.name)
		}
	}
	for name := range operator {
		if !slices.Contains(names(), name) {
			t.Errorf("%s is in the table operator and is no command", name)
		}
	}
}
