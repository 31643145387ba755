// Package figure draws the figures of the paper's experiments from plain numbers: accuracy over rounds ([Accuracy],
// [Partitions]), how labels are spread over clients ([Shares]), all methods against one ([Compare], [Volcano]), and
// what communication buys ([Tradeoff]).
//
// A path that ends in .svg or .png says what is written; with no such ending both are, under that name and the two
// endings. Figures are one or two columns of a journal wide, PNG at 300 dots an inch. A method has the same color and
// dashes in all figures, a partition too; colors are those of Okabe and Ito, "Color universal design", 2008, which most
// readers with a color vision deficiency tell apart. The same numbers give the same file: there is no date in it, and
// no order of a map.
package figure
