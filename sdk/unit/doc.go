// Package unit chooses the settings of a run that protects each record, from public numbers alone: how many records the
// members have, how many parameters the model has, and what noise the budget asks for. It knows no fleet: package sdk
// fills in a fleet's settings with it. sdk/DEFAULTS.md says what was tried.
//
// What noise leaves of all updates in a row depends on neither the number of rounds nor the step, but on the records,
// the members and the budget: see [Signal]. So few rounds with a good slope of each record, from many queries, do best.
package unit
