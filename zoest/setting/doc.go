// Package setting defines the ranges of the method's settings once, for checks, parsing, documentation and completion.
package setting
