// Package cli is what all commands of the program share: the command line, its faults and exit codes, help, topics, completion,
// and how text, tables, JSON and progress are printed. It knows no command: package program lists them in [Commands].
package cli
