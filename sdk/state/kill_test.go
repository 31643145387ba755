package state

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// killedState returns a state of 2 MiB for the process that is killed; every byte depends on the round.
func killedState(round int, b []byte) []byte {
	x := uint32(round)*2654435761 + 1
	for i := range b {
		x = x*1664525 + 1013904223
		b[i] = byte(x >> 24)
	}
	return b
}

const killedLength = 2 << 20

// saveUntilKilled runs in the process that TestKill kills. It saves round after round in a directory, and prints the
// round of each completed save.
func saveUntilKilled(dir string) error {
	d, err := sized(Open(dir))(killedLength)
	if err != nil {
		return err
	}
	kept, err := d.Load()
	if err != nil {
		return err
	}
	round := 0
	if len(kept) > 0 {
		round = kept[0].Round
	}
	fmt.Println("ready")
	for b := make([]byte, killedLength); ; {
		round++
		if err := d.Save(Record{Round: round, State: killedState(round, b), Note: `"killed"`}); err != nil {
			return err
		}
		fmt.Println(round)
	}
}

// TestKill kills a real process on a real disk at random moments: SPADE_KILLS times if that variable is set, otherwise
// 3 times with -short, 20 times with SPADE_LONG, and 8 times by default. After each kill, the newest state must be
// complete, and its round must be the last printed round or the round after it.
func TestKill(t *testing.T) {
	if dir := os.Getenv("SPADE_KILL_DIR"); dir != "" {
		t.Fatal(saveUntilKilled(dir))
	}
	if runtime.GOOS == "windows" || runtime.GOOS == "js" || runtime.GOOS == "wasip1" {
		t.Skip("needs processes that can be killed at any instruction")
	}
	kills := 8
	switch {
	case testing.Short():
		kills = 3
	case os.Getenv("SPADE_LONG") != "":
		kills = 20
	}
	if s := os.Getenv("SPADE_KILLS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		kills = n
	}
	dir := t.TempDir()
	chance := rng.New(3, rng.Address{Purpose: rng.Fault})
	newest, torn, ahead := 0, 0, 0
	for range kills {
		told := runAndKill(t, dir, &chance)
		d, err := sized(Open(dir))(killedLength)
		if err != nil {
			t.Fatal(err)
		}
		kept, err := d.Load()
		if err != nil {
			t.Fatal(err)
		}
		if len(d.Remarks()) > 0 {
			torn++
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		told = max(told, newest)
		newest = 0
		b := make([]byte, killedLength)
		for i, s := range kept {
			if s.Round != kept[0].Round-i || !bytes.Equal(s.State, killedState(s.Round, b)) {
				t.Fatalf("state %d of %d is not that of round %d", i, len(kept), s.Round)
			}
		}
		if len(kept) > 0 {
			newest = kept[0].Round
		}
		if newest != told && newest != told+1 {
			t.Fatalf("the process had reported round %d, but the store has %d", told, newest)
		}
		ahead += newest - told
	}
	t.Logf("%d kills, %d rounds: %d left a torn slot, %d a state that was not reported", kills, newest, torn, ahead)
}

// runAndKill starts a process that runs saveUntilKilled, waits until a few rounds are printed and then for a random
// part of the duration of the last round, and kills the process. It returns the last printed round, or 0 if no round
// was printed.
func runAndKill(t *testing.T, dir string, chance *rng.Stream) int {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestKill$")
	cmd.Env = append(os.Environ(), "SPADE_KILL_DIR="+dir)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	told, lines := 0, 0
	last := 2 + chance.IntN(3)
	var then time.Time
	in := bufio.NewScanner(out)
	for in.Scan() {
		if n, err := strconv.Atoi(in.Text()); err == nil {
			told = n
		} else if in.Text() != "ready" {
			t.Errorf("the process said %q %s", in.Text(), &stderr)
		}
		if lines++; lines == last {
			// The real clock affects only the moment of the kill, and the test must pass for every such moment.
			wait := time.Duration(chance.Float64() * float64(time.Since(then)))
			time.AfterFunc(wait, func() { cmd.Process.Kill() })
		}
		then = time.Now()
	}
	if lines < last {
		t.Errorf("the process ended by itself: %s", &stderr)
	}
	cmd.Wait()
	return told
}
