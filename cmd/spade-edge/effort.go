package main

import (
	"fmt"
	"io"
)

// effort is what a process of a node has cost its device, counted and not estimated. A round is one of those that this process has
// made; if it has made none, the figures of a round are 0.
type effort struct {
	DiskBytes  int64   `json:"disk_bytes"`  // handed to files: states, log of releases, ledger and its mark
	CPUSeconds float64 `json:"cpu_seconds"` // of all processors together, children left out

	DiskRound int64   `json:"disk_bytes_round"`
	SentRound int64   `json:"bytes_sent_round"` // of encoded frames, resent ones included
	CPURound  float64 `json:"cpu_seconds_round"`
}

// writer is what counts the bytes it has written.
type writer interface{ Written() int64 }

// newEffort counts for so many rounds.
func newEffort(files []writer, sent int64, rounds int) effort {
	e := effort{CPUSeconds: cpuSeconds()}
	for _, f := range files {
		e.DiskBytes += f.Written()
	}
	if n := int64(rounds); n > 0 {
		e.DiskRound, e.SentRound, e.CPURound = e.DiskBytes/n, sent/n, e.CPUSeconds/float64(n)
	}
	return e
}

// write prints the effort for people.
func (e effort) write(w io.Writer) {
	fmt.Fprintf(w, "effort         %s written to disk, %s a round; %s sent a round; %.3g s of processor time, %.3g ms a round\n",
		bytesText(e.DiskBytes), bytesText(e.DiskRound), bytesText(e.SentRound), e.CPUSeconds, 1000*e.CPURound)
}
