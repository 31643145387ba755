package transport_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spade-dfl/spade-edge/transport"
)

// TestPrintable checks that Printable escapes everything that could control a terminal, and nothing else.
func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"it is of another fleet: found \"a\", wanted 'b' … ä": "it is of another fleet: found \"a\", wanted 'b' … ä",
		"\x1b[2Jgone\r\nround 9 of 9":                         `\x1b[2Jgone\r\nround 9 of 9`,
		"\u202egnp.exe\x00\a\t":                               `\u202egnp.exe\x00\a\t`,
		"half a rune \xe2\x82":                                "half a rune ?",
		"":                                                    "",
	} {
		if got := transport.Printable(text); got != want {
			t.Errorf("%q becomes %s, want %s", text, got, want)
		}
	}
}

// TestLimited logs a line every second about one peer for an hour. The log must contain the first hundred lines,
// then one line every 30 seconds with the number of dropped lines. Lines about other peers and lines of other kinds
// have their own limits.
func TestLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		log := transport.Limited(slog.New(slog.NewTextHandler(&out, nil))).With("node", "a").WithGroup("g")
		for i := range 3600 {
			log.Info("connected", "peer", "b", "at", fmt.Sprint(i))
			time.Sleep(time.Second)
		}
		if lines := strings.Count(out.String(), "\n"); lines < 200 || lines > 230 {
			t.Errorf("%d lines in an hour, want 100 and one in 30 seconds", lines)
		}
		if !strings.Contains(out.String(), "left_out=29") {
			t.Errorf("nothing says how many lines are left out: %.300s", out.String())
		}
		out.Reset()
		log.Info("connected", "peer", "c")
		log.Info("disconnected", "peer", "b")
		log.Debug("connected", "peer", "b")
		if lines := strings.Count(out.String(), "\n"); lines != 2 {
			t.Errorf("%d lines, want those of another peer and of another kind:\n%s", lines, out.String())
		}
		for i := range 5000 {
			log.Warn("a caller", "from", fmt.Sprint(i))
		}
		if lines := strings.Count(out.String(), "\n"); lines > 1200 {
			t.Errorf("%d lines about made-up names", lines)
		}
	})
}
