//go:build !board

package program

import (
	"context"
	_ "embed" // the topics
)

// operator are the commands of whoever plans and sets up fleets. A build with the tag board, for devices that have
// little room, is without them.
var operator = map[string]func(context.Context, *cmdline) error{
	"demo": demo, "simulate": simulate, "plan": planRun, "fit": fit, "init": initFleet,
	"inspect": inspectPath, "evaluate": evaluate,
	"fleet": fleetFiles, "completion": completion,
}

// beginWith are the flags that the help of commands with many of them shows; "-h all" shows all.
var beginWith = map[string][]string{
	"demo":     {"nodes", "graph", "epsilon", "non-private", "http", "json"},
	"simulate": {"data", "label", "nodes", "graph", "epsilon", "seeds"},
	"plan":     {"dim", "samples", "nodes", "graph", "epsilon", "rounds"},
	"fit":      {"data", "label", "onehot", "drop", "fitted-on", "out"},
	"init":     {"n", "members", "graph", "dim", "samples", "epsilon"},
}

// words says how a command line may go on, for the scripts of the command completion.
var words = complete

// paperwork is what the command privacy does that needs no device.
var paperwork = map[string]func(*privacyOptions) error{
	"verify": (*privacyOptions).verifyCertificate, "plan": (*privacyOptions).plan,
}

// operatorZip is what topics.go has of these commands.
//
//go:embed operator.gz
var operatorZip string
