// Package dialogue runs the dialogues of this project's tests: text files with commands and what they print.
//
// A dialogue consists of lines of commands, separated by commas. Each such line is followed by dashes, the output and an
// empty line. Other lines begin with #.
package dialogue
