// Package records compares SPADE-DFL with its rivals where each record is protected, at equal guarantee and with at most
// as many losses asked for: each record of each client has (epsilon, 1e-5)-differential privacy, which record it is
// replaced by does not matter, and the numbers of records are public.
//
// SPADE-DFL runs with the settings that package sdk chooses from public numbers. A rival's settings are searched for
// on other seeds than are reported, and again for every epsilon. Test rows are chosen by their numbers, or are the test
// set of the source; records are dealt to clients without their labels.
package records
