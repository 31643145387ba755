// Package tinytest is the kit that SPADE-Edge tests itself with, and that an embedder can use: outside go test as well,
// since its functions return errors.
//
// A network in one process. [Sim] runs the machines of many clients in virtual time; what it computes is, bit for bit, what
// the same machines compute as nodes with sockets between them. [Network] is one definition for both.
//
// Faults. Each is one idea, and they nest. A [Fate] says what becomes of a message, as a pure function of a seed, the edge
// and the message's number on it: [Drop], [GilbertElliott], [Delay], [Reorder], [Duplicate], [Partition], and several of
// them by [Nest]. The same fates serve a simulation (Sim.Fate) and a transport ([Faulty]). [Markov] lets clients fall
// asleep. [CrashAt], [TornWrite] and [LyingSync] wrap what opens a store ([OpenStore]).
//
// Conformance. [TestTransport], [TestStore] and [TestOracle] try an implementation of yours against what the interface's
// comments promise, and return one error that explains each rule it broke.
//
// Losses with a known gradient, bound and minimizer: [Quadratic], [SquaredProbability], [BoundedNonconvex].
//
// Golden runs. [Trace] writes a whole run down in short hashes, and [CompareTraces] names the first round, client and variable
// in which two runs differ.
package tinytest
