// Package setting says what a number that somebody sets may be, and reports one that is something else. The ranges of
// the method's settings stand here once: whoever computes with a setting checks it, and whoever reads, documents or
// completes one shows the same range.
package setting
