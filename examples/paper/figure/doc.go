// Package figure draws the figures of the paper's experiments from plain numbers: accuracy over rounds ([Accuracy],
// [Partitions]), the distribution of labels over clients ([Shares]), all methods against one ([Compare], [Volcano]),
// and the effect of communication ([Tradeoff]).
//
// The path of a figure ends in .svg or .png, which selects the format. Figures are one or two journal columns wide;
// PNG has 100 dots per inch. A method, and likewise a partition, has the same color and dashes in all figures. The
// colors are those of Okabe and Ito, "Color universal design", 2008, which most readers with a color vision deficiency
// can distinguish. The same numbers give the same file: it contains no date and no map order.
package figure
