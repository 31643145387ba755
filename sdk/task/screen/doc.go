// Package screen looks for wrong values in a table before training: a unit off by a factor, a number that stands for a
// missing value, swapped columns, a constant column, labels unrelated to their rows.
//
// [Table] compares each column with the mean and the spread that the [task.Recipe] has from public data, so that a
// site can find out alone that its file differs from the others. The findings describe the data and no privacy
// guarantee covers them: keep them on the device that has the data. They are suspicions: nothing depends on them.
//
// The package does not find two swapped columns with similar values, a unit off by less than the spread of the column,
// a few wrong rows, or labels that are partly wrong. Of files with completely shuffled labels it misses three in a
// hundred, by chance.
package screen
