// Package sim runs a network of clients in one process and in virtual time. Its results are bit-for-bit the same as the
// results of nodes that run the same machines and communicate through sockets.
//
// [New] takes one [Client] for each member, with a configuration from [Machines] or written by hand. [Sim.Run] runs all
// rounds. A [Transcript] hashes the releases of a simulation, or of real nodes, in a fixed order.
package sim
