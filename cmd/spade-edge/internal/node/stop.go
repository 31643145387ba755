package node

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/device"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/monitor"
)

// Stopped is how far a node came that was ended, and its JSON.
type Stopped struct {
	WasRunning bool `json:"was_running"`
	Round      int  `json:"round"`
	Rounds     int  `json:"rounds"`
	Cooldown   int  `json:"cooldown"`
}

// StopAsked is what a node has asked of its run, and its JSON.
type StopAsked struct {
	Asked int           `json:"asked"` // the last round with data
	Stop  *monitor.Stop `json:"stop"`
}

// Stop is the command that ends a running node, to go on later.
func Stop(ctx context.Context, c *cli.Cmdline) error {
	timeout := c.Duration("timeout", time.Minute, "how long to wait for the node's end")
	fleetwide := c.Bool("fleet", false, "ask all members to end the run early, at the same round, in place of ending this process")
	round := c.Int("round", 0, "with -fleet: the last round with data (default the earliest that all hear of in time)")
	c.JSONFlag("")
	path, err := c.ParseFile()
	if err != nil {
		return err
	}
	if c.Given["round"] && (!*fleetwide || *round < 1) {
		return cli.AsUsageError(fmt.Errorf("-round is %d, want 1 or more, with -fleet", *round))
	}
	if *fleetwide && c.Given["timeout"] {
		return cli.AsUsageError(errors.New("-timeout does not go with -fleet, which waits for nobody"))
	}
	if *timeout <= 0 {
		return cli.AsUsageError(fmt.Errorf("-timeout is %v, want more than 0", *timeout))
	}
	file, fleet, err := readFiles(path)
	if err != nil {
		return err
	}
	if *fleetwide {
		return stopFleet(ctx, c, file, fleet, *round)
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
	r := Stopped{running, st.Round, st.Rounds, st.Cooldown}
	return c.Print(r, func(t cli.Table) {
		said := "node %q of run %q has stopped after round %d of %d\n"
		if !running {
			said = "node %q of run %q does not run; it has made %d of %d releases\n"
		}
		fmt.Fprintf(t, said, st.Name, st.Run, st.Round, st.Rounds+st.Cooldown)
	})
}

// stopFleet asks for an early end of the run in the node's name.
func stopFleet(ctx context.Context, c *cli.Cmdline, file *fleetfile.Node, fleet *fleetfile.File, round int) error {
	last, err := device.AskEnd(ctx, file.State, round)
	if err != nil {
		return err
	}
	st, err := device.StatusOf(ctx, file, fleet) // a short run may be over by now
	if err != nil {
		return err
	}
	text := "it is not known yet who else has asked"
	if st.Stop != nil {
		text = st.Stop.Text
	}
	return c.Print(StopAsked{last, st.Stop}, func(t cli.Table) {
		fmt.Fprintf(t, "node %q asks that round %d of run %q be the last with data; early end %s\n", st.Name, last, st.Run, text)
	})
}

// wishText says who has asked for an early end, and when.
func wishText(list []sdk.Wish) string {
	var all []string
	for _, w := range list {
		all = append(all, fmt.Sprintf("%q (round %d)", w.Member, w.Last))
	}
	return strings.Join(all, ", ")
}
