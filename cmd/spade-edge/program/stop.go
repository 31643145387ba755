package program

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spade-dfl/spade-edge/sdk/device"
)

func stopNode(ctx context.Context, c *cmdline) error {
	timeout := c.Duration("timeout", time.Minute, "how long to wait for the node's end")
	c.jsonFlag("")
	path, err := c.parseFile()
	if err != nil {
		return err
	}
	if *timeout <= 0 {
		return usageError{fmt.Errorf("-timeout is %v, want more than 0", *timeout)}
	}
	file, fleet, err := readFiles(path)
	if err != nil {
		return err
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
	st, err := device.Left(file, fleet)
	if err != nil {
		return err
	}
	r := fields{
		{"was_running", running}, {"round", st.Round}, {"rounds", st.Rounds}, {"cooldown", st.Cooldown},
	}
	return c.print(r, func(t table) {
		said := "node %q of run %q has stopped after round %d of %d\n"
		if !running {
			said = "node %q of run %q does not run; it has made %d of %d releases\n"
		}
		fmt.Fprintf(t, said, st.Name, st.Run, st.Round, st.Rounds+st.Cooldown)
	})
}
