// Package stat is the little statistics that the paper's tables and figures need: means with their spread, Student's
// interval for a mean, Wilcoxon's signed-rank test for pairs, and the adjustment of Benjamini and Hochberg for many
// tests at once.
//
// Every function takes plain numbers, leaves them as they are, and gives the same result for them in the same order on
// every processor, save that [TInterval] rests on a quantile whose last digit may differ.
package stat
