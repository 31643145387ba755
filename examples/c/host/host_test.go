package host

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestWarnings checks that a host without a Lines function prints only warnings about missing neighbors, at growing
// intervals.
func TestWarnings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said strings.Builder
		warn, began := Warnings(&said), time.Now()
		var at []int
		for range 200 {
			before := said.Len()
			warn("node \"a\" of run \"r\": neighbors \"b\"")
			warn("after round 0 of 9: waiting for \"b\" (not connected: connection refused)")
			if said.Len() > before {
				at = append(at, int(time.Since(began)/time.Second))
			}
			time.Sleep(time.Second)
		}
		if got, want := said.String(), strings.Repeat("spade_edge: after round 0 of 9: waiting for \"b\" (not connected: connection refused)\n", 6); got != want {
			t.Errorf("at %v it says\n%s", at, got)
		}
		for i, want := range []int{0, 5, 15, 35, 75, 155} {
			if i >= len(at) || at[i] != want {
				t.Fatalf("it speaks after %v seconds", at)
			}
		}
	})
}
