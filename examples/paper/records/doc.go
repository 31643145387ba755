// Package records compares SPADE-DFL with its rivals at record-level privacy. All have equal guarantees, and no rival
// asks for more losses than SPADE-DFL. Each record of each client has (epsilon, 1e-5)-differential privacy, whatever
// record replaces it. The numbers of records are public.
//
// SPADE-DFL runs with the settings that package sdk chooses from public numbers. The settings of a rival come from a
// search, separately for every epsilon, on seeds that are not reported. Test rows are selected by their row numbers, or
// are the test set of the source. Records are dealt to clients without regard to their labels.
package records
