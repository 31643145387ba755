// Package sim runs a network of clients in one process and in virtual time. What it computes is, bit for bit, what the
// same machines compute as nodes with sockets between them.
//
// [New] takes one [Client] per member; the configurations come from
// [github.com/spade-dfl/spade-edge/sdk.Fleet.Machines] or are built by hand. [Sim.Run] goes through all rounds. A
// [FaultSchedule] loses, repeats and delays messages; package tinytest has several. A [Transcript] hashes the releases
// of a simulation, or of nodes, in one fixed order.
package sim
