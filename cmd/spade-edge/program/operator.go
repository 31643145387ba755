//go:build !board

package program

import "context"

// operator are the commands of whoever plans and sets up fleets. A build with the tag board, for devices that have
// little room, is without them.
var operator = map[string]func(context.Context, *cmdline) error{
	"demo": demo, "simulate": simulate, "plan": planRun, "fit": fit, "init": initFleet,
	"inspect": inspectPath, "evaluate": evaluate,
	"fleet": fleetFiles,
}
