// Package setting defines the valid ranges of the method's settings in one place, for checks, parsing, documentation
// and command-line completion.
package setting
