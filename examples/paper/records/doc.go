// Package records compares SPADE-DFL with its rivals at record-level privacy. All methods give the same guarantee, and
// no rival queries more losses than SPADE-DFL. The guarantee is (epsilon, 1e-5)-differential privacy for each record of
// each client, whatever record replaces it. The numbers of records are public.
//
// SPADE-DFL runs with the settings that package sdk derives from public numbers. The settings of a rival come from a
// search, made separately for each epsilon, on seeds that are not reported. Test rows are selected by row number, or
// come from the source's test set. Records are dealt to clients without regard to their labels.
package records
