// Package setting has the ranges of settings and reports values outside of them. The ranges of the method's settings
// stand here once, for checks, reading, documentation and completion.
package setting
