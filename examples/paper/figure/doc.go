// Package figure draws the figures of the paper's experiments from plain numbers: accuracy over rounds ([Accuracy],
// [Partitions]), how labels are spread over clients ([Shares]), all methods against one ([Compare], [Volcano]), and
// what communication buys ([Tradeoff]).
//
// The path of a figure ends in .svg or .png, which says what is written. Figures are one or two columns of a journal wide,
// PNG at 100 dots an inch. A method has the same color and
// dashes in all figures, a partition too; colors are those of Okabe and Ito, "Color universal design", 2008, which most
// readers with a color vision deficiency tell apart. The same numbers give the same file: there is no date in it, and
// no order of a map.
package figure
