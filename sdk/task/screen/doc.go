// Package screen looks for wrong values in a table before anything is learned from it: a unit off by a factor, a number that
// stands for a missing value, swapped columns, a column of one value, labels that have nothing to do with their rows.
//
// [Table] compares each column with the mean and the spread that the [task.Recipe] has from public data, so that one site can find out
// by itself that its file is not what the others have. What it finds is about the data, covered by no privacy guarantee, and belongs
// on the device that has them. It is a suspicion: nothing depends on it.
//
// Not found are two columns swapped whose values are alike, a unit off by less than the spread of the column, a few wrong rows, and
// labels of which a part is wrong. Of labels that are shuffled altogether
// three in a hundred files are not found, by chance.
package screen
