// Package tabular contains the kernels that read tables of data: [DotRows] multiplies many points by a row each, and [Gather]
// sparse rows by a matrix. They are for losses and preparations of data that a program computes itself; a node does not link
// them. As in package vec, all variants return the same bits, except in a NaN. Gather sums in float64, one product after the
// other.
package tabular
