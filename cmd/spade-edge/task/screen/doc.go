// Package screen looks for wrong values in a table before training: values in the wrong unit, a number that marks a
// missing value, swapped columns, a constant column, a column that numbers the rows or tells their class, values coded in
// another way, repeated rows, or labels unrelated to their rows.
//
// [Table] compares each column with the mean and the spread that the [task.Recipe] has from public data, so that a site
// can find out, without data from other sites, that its file differs from what the recipe expects. The findings
// describe the data and no privacy guarantee covers them: keep them on the device that has the data. They are
// suspicions for people to check: no computation depends on them.
//
// The package does not find two swapped columns with similar values, a wrong unit that changes values by less than the
// spread of the column, a few wrong rows, or labels that are partly wrong. By chance it also misses three in a hundred
// files whose labels are completely shuffled.
package screen
