package program

import (
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/node"
)

// Program is what sets one program apart from another: its name, and over what its nodes meet.
type Program = cli.Program

// Answer is what somebody said who was asked.
type Answer = cli.Answer

// Websockets is spade-edge, whose nodes connect to each other.
var Websockets = node.Websockets
