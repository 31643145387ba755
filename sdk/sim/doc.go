// Package sim runs a network of clients in one process and in virtual time. Its results are bit for bit those of the
// same machines as nodes that communicate through sockets.
//
// [New] takes one [Client] for each member, with a configuration from
// [github.com/spade-dfl/spade-edge/sdk.Fleet.Machines] or made by hand. [Sim.Run] runs all rounds. A [FaultSchedule]
// drops, duplicates and delays messages; package tinytest has several. A [Transcript] hashes the releases of a
// simulation, or of nodes, in a fixed order.
package sim
