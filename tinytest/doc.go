// Package tinytest is the kit that SPADE-Edge tests itself with. An embedder can use it too, also outside go test:
// its functions return errors.
//
// Faults. A fault schedule decides what happens to a message, as a pure function of a seed, the edge and the message's
// number on it: [Drop], [Delay], [Duplicate], and several of them by [Chain]. The same schedules
// serve a simulation (Sim.Faults) and a transport ([Faulty]). [CrashAt] and [TornWrite] wrap what opens a store
// ([OpenStore]).
//
// Conformance. [TestTransport] and [TestOracle] check an implementation against what the interface's comments promise, and
// return one error that explains each broken rule.
//
// Losses from 0 to 1 with a known minimizer: [SquaredProbability], [BoundedNonconvex].
package tinytest
