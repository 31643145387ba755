// Package tinytest is the test kit of SPADE-Edge. Programs that embed the SDK can use it too, also outside go test:
// its functions return errors.
//
// Faults. A fault schedule decides the fate of a message, as a pure function of a seed, the edge and the message's
// number on it: [Drop], [Delay], [Duplicate], combined by [Chain]. The same schedules serve a simulation (Sim.Faults)
// and a transport ([Faulty]). [CrashAt] and [TornWrite] wrap an [OpenStore].
//
// Conformance. [TestTransport] and [TestOracle] check an implementation against the documentation of its interface and
// return one error that explains each broken rule.
//
// Losses in [0, 1] with a known minimizer: [SquaredProbability], [BoundedNonconvex].
package tinytest
