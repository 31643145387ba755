// Package plan chooses the settings of a run, forecasts its value, and checks a device before it takes part.
//
// [Suggest] fills in the method and the privacy of a [sdk.Fleet] from public numbers: dimension, samples, budget and,
// with pairwise noise, the graph. [Forecast] estimates how much of the noise-free gain the run keeps, and what would
// increase this share. [Hopeless] rejects a run that would spend a privacy budget for almost nothing.
//
//	known := plan.Known{Dim: 31, Samples: samples, Open: true, Privacy: sdk.Privacy{EpsilonLimit: 4}}
//	fleet.Method, fleet.Privacy, err = plan.Suggest(known)
//	...
//	outlook, err := plan.Forecast(fleet, samples[0])
//
// Each member then calls [Preflight] on its device with its own [sdk.Config]. Preflight reports what would stop the
// node, and asks the oracle for a few losses.
//
// A node does not need this package; only programs that make or check fleets should import it. sdk/DEFAULTS.md has the
// measurements behind each choice.
package plan
