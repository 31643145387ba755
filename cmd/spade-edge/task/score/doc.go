// Package score measures predictions of classes and numbers against the truth, with 95 % confidence intervals.
package score
