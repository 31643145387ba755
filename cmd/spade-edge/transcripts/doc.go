// Package transcripts tests the command line with files that show what a user types and sees: testdata/*.txtar.
// testscript runs them, and its documentation explains the commands; this package adds await, edit, exits, field, is,
// ports, proxy, signal, trouble and wrong, and a program fetch. The lines that help and the README show are in
// examples-*.txtar and readme.txtar.
//
//	go test ./...                           # all
//	go test -run 'Transcripts/fleet' .      # testdata/fleet.txtar
//	go test -update ./...                   # updates the files that "cmp" compares
package transcripts
