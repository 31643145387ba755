package sdk_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/transport"
	"github.com/spade-dfl/spade-edge/transport/mem"
)

// unreachable is a transport that reports why neighbors are silent.
type unreachable struct{ transport.Transport }

func (unreachable) Peers() []transport.PeerStatus {
	return []transport.PeerStatus{{Name: "b", Err: errors.New("wss://b:1/: connection refused")}, {Name: "c", Connected: true}}
}

// whoIsSilent runs node "a" of a triangle for 15 minutes of virtual time, with an oracle that takes the given time per
// loss. If comes is true, node "b" runs from minute 3 to minute 6. whoIsSilent returns the log lines of node "a", each
// with its time.
func whoIsSilent(t *testing.T, oracle time.Duration, comes bool, change func(*sdk.Config)) (lines []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := only(3, ring())
		net, began := mem.New(f.Members...), time.Now()
		var text bytes.Buffer
		log := slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.String("at", time.Since(began).Round(time.Second).String())
			}
			return a
		}}))
		run := func(name string, after, until time.Duration) {
			time.Sleep(after)
			tr, err := net.Node(name)
			if err != nil {
				t.Error(err)
				return
			}
			defer tr.Close()
			cfg := sdk.Config{Fleet: f, Name: name, Samples: 3, Transport: unreachable{tr}, Logger: slog.New(slog.DiscardHandler),
				Oracle: sdk.OracleFunc(func(ctx context.Context, x []float32, _ int) (float64, error) {
					time.Sleep(oracle)
					return float64(x[0]), nil
				})}
			if name == "a" {
				cfg.Logger = log
				if change != nil {
					change(&cfg)
				}
			}
			n, err := sdk.New(cfg)
			if err != nil {
				t.Error(err)
				return
			}
			ctx, cancel := context.WithTimeout(t.Context(), until-after)
			defer cancel()
			if err := n.Run(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if comes {
			go run("b", 3*time.Minute+time.Second, 6*time.Minute+10*time.Second) // not at the moment of a heartbeat
		}
		run("a", 0, 15*time.Minute)
		synctest.Wait()
		for line := range strings.Lines(text.String()) {
			lines = append(lines, strings.TrimSpace(line))
		}
	})
	return lines
}

// TestNodeSaysWhomItWaitsFor checks that a node logs which neighbors it waits for and why, first after five seconds and
// then at growing intervals. It must log nothing if Events.Waiting is set.
func TestNodeSaysWhomItWaitsFor(t *testing.T) {
	var want []string
	for _, silent := range []string{"5s", "30s", "1m0s", "2m0s", "4m0s", "8m0s"} {
		want = append(want, fmt.Sprintf(`at=%s level=WARN msg="waiting for neighbors that have sent nothing" node=a run=test for=%[1]s `+
			`from="\"b\" (not connected: wss://b:1/: connection refused), \"c\" (connected)"`, silent))
	}
	got := whoIsSilent(t, 0, false, nil)
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("it logs\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	told := whoIsSilent(t, 0, false, func(c *sdk.Config) { c.Events.Waiting = func(int, []string) {} })
	if len(told) != 0 {
		t.Errorf("with an event it logs %q", told)
	}
	var silent []string
	told = whoIsSilent(t, 0, false, func(c *sdk.Config) {
		c.Events.Silent = func(name string, long time.Duration, reason string) {
			silent = append(silent, fmt.Sprint(name, " ", long, " ", reason))
		}
	})
	if len(told) != 0 || len(silent) != 12 || silent[0] != "b 5s not connected: wss://b:1/: connection refused" || silent[3] != "c 30s connected" {
		t.Errorf("it logs %q and reports %q", told, silent)
	}
}

// TestWaitingTellsNothingOfTheOracle checks that the log lines depend only on received frames: they are the same with a
// slow oracle and with a fast one, although the runs are then in different rounds. After three missed heartbeats, the
// log names a neighbor that left.
func TestWaitingTellsNothingOfTheOracle(t *testing.T) {
	fast, slow := whoIsSilent(t, 0, true, nil), whoIsSilent(t, 47*time.Second, true, nil)
	if strings.Join(fast, "\n") != strings.Join(slow, "\n") {
		t.Errorf("with a fast oracle\n%s\nand with a slow one\n%s", strings.Join(fast, "\n"), strings.Join(slow, "\n"))
	}
	back := false
	for _, line := range fast {
		back = back || strings.Contains(line, `for=1m30s from="\"b\"`) || strings.Contains(line, `from="\"b\" (not connected: wss://b:1/: connection refused)"`)
	}
	if !back {
		t.Errorf("nothing says that b has gone:\n%s", strings.Join(fast, "\n"))
	}
}

func TestLogsByDefault(t *testing.T) {
	before := slog.Default()
	defer slog.SetDefault(before)
	var text bytes.Buffer
	slog.SetDefault(slog.New(slog.NewTextHandler(&text, nil)))
	whoIsSilent(t, 0, false, func(c *sdk.Config) { c.Logger = nil })
	if n := strings.Count(text.String(), "level=WARN"); n != 6 {
		t.Errorf("there are %d lines, want 6:\n%s", n, &text)
	}
}
