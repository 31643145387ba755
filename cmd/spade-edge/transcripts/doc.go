// Package transcripts tests the command line with files that show what a user types and sees: testdata/*.txtar. Package
// testscript runs these files, and its documentation explains the commands. This package adds the commands await, edit,
// exits, field, is, ports, proxy, signal, trouble and wrong, and the program fetch. The command lines in the help and
// the README are in examples-*.txtar and readme.txtar.
//
//	go test ./...                           # runs all files
//	go test -run 'Transcripts/fleet' .      # runs testdata/fleet.txtar
//	go test -update ./...                   # updates the files that "cmp" compares
package transcripts
