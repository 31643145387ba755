// Package setting defines the ranges of the method's settings in one place, for checks, parsing, documentation and
// completion, and reports values outside of them.
package setting
