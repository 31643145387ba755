// Package figure draws the figures of the paper's experiments from plain numbers: accuracy over rounds ([Accuracy],
// [Partitions]), the distribution of labels over clients ([Shares]), comparisons of all methods with one reference
// ([Compare], [Volcano]), and the effect of communication ([Tradeoff]).
//
// The path of a figure ends in .svg or .png, which selects the format. Figures are one or two journal columns wide; PNG
// files have 100 dots per inch. Each method and each partition has the same color and dashes in all figures. The colors
// come from Okabe and Ito, "Color universal design", 2008; most readers with a color vision deficiency can distinguish
// them. The same input always gives the same file, because no date or map iteration order enters the file.
package figure
