// Command spade-edge trains one shared model on many devices that connect to each other over websockets. "spade-edge
// help" lists its commands, which package program implements.
package main

import "github.com/spade-dfl/spade-edge/cmd/spade-edge/program"

func main() { program.Websockets.Main() }
