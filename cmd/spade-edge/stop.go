package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spade-dfl/spade-edge/sdk/device"
)

// stopResult is the outcome of stop, and its JSON.
type stopResult struct {
	WasRunning bool `json:"was_running"`
	Round      int  `json:"round"` // the last release made
	Rounds     int  `json:"rounds"`
	Cooldown   int  `json:"cooldown"`
}

func stopNode(ctx context.Context, c *cmdline) error {
	timeout := c.Duration("timeout", time.Minute, "how long to wait for the node's end")
	c.jsonFlag("")
	file, fleet, err := c.readNode()
	if err != nil {
		return err
	}
	if *timeout <= 0 {
		return usageError{fmt.Errorf("-timeout is %v, want more than 0", *timeout)}
	}
	within, cancel := context.WithTimeout(ctx, *timeout)
	defer cancel()
	err = device.AskStop(within, file.State)
	running := !errors.Is(err, device.ErrNotRunning)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case within.Err() != nil:
		return fmt.Errorf("node %q was asked to end, and has not within %v", file.Name, *timeout)
	case err != nil && running:
		return err
	}
	st, err := left(file, fleet)
	if err != nil {
		return err
	}
	r := stopResult{WasRunning: running, Round: st.Round, Rounds: st.Rounds, Cooldown: st.Cooldown}
	return c.print(r, func(t table) {
		if !r.WasRunning {
			fmt.Fprintf(t, "node %q of run %q does not run; it has made %d of %d releases\n",
				st.Name, st.Run, st.Round, st.Rounds+st.Cooldown)
			return
		}
		fmt.Fprintf(t, "node %q of run %q has stopped after round %d of %d\n",
			st.Name, st.Run, st.Round, st.Rounds+st.Cooldown)
	})
}
