package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/sdk"
)

// The tutorial runs and says what it has come to.
func TestRun(t *testing.T) {
	var out strings.Builder
	if err := run(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"trained alone", "trained with 99 others", "epsilon"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	t.Log(out.String())
}

// Without noise the common alarm catches the faults of a machine that nobody has heard, and rings less for nothing than
// that of one machine alone.
func TestAlarm(t *testing.T) {
	n := 60
	if os.Getenv("SPADE_LONG") != "" {
		n = machines
	}
	fleet, sites := ring(n), make([]*site, n)
	for i := range sites {
		sites[i] = record(uint64(i), seconds)
	}
	fleet.Privacy = sdk.Privacy{NonPrivate: true}
	models, err := train(t.Context(), fleet, sites)
	if err != nil {
		t.Fatal(err)
	}
	if got := record(1000, 2000).score(models[0]); got.caught < 0.9 || got.wrong > 0.3 {
		t.Error(got)
	}
}

// One machine's node, with what it has recorded, fits into a board of 16 MiB: Go takes less than half of that, at a
// limit that a user would set with GOMEMLIMIT.
func TestFitsIntoABoard(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(16 << 20))
	debug.FreeOSMemory()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	fleet := ring(1)
	if _, err := train(t.Context(), fleet, []*site{record(0, seconds)}); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if grown := int64(after.Sys-after.HeapReleased) - int64(before.Sys-before.HeapReleased); grown > 8<<20 {
		t.Errorf("one node takes %d bytes", grown)
	}
}
