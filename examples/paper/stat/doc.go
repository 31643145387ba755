// Package stat implements the statistics for the paper's tables and figures: means with their spread, Student's
// interval for a mean, Wilcoxon's signed-rank test for pairs, and the adjustment of Benjamini and Hochberg for multiple
// tests.
//
// No function changes its arguments. The same numbers in the same order give identical results on every processor,
// except for [TInterval], which uses a quantile whose last digit may differ.
package stat
