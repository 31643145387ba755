// Package transcripts tests the command line by files that show what a user types and sees: testdata/*.txtar. Each is run
// by testscript, whose documentation explains the commands; await, edit, ports and wrong are this package's own.
//
//	go test ./...                           # all
//	go test -run 'Transcripts/fleet' .      # testdata/fleet.txtar
//	go test -update ./...                   # writes what "cmp" finds into the files
package transcripts
