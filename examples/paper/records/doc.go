// Package records compares SPADE-DFL with its rivals at record-level privacy, with equal guarantees and at most as
// many losses asked for. Each record of each client has (epsilon, 1e-5)-differential privacy, whatever replaces it;
// the numbers of records are public.
//
// SPADE-DFL runs with the settings that package sdk chooses from public numbers. A search chooses a rival's settings,
// separately for every epsilon and on seeds that are not reported. Test rows are chosen by their numbers, or are the
// test set of the source; records are dealt to clients without regard to their labels.
package records
