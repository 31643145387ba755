package device

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"time"

	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
)

// refusals is the number of consecutive refused hellos after which this node assumes that the neighbor has a different
// fleet; either side may be the one that refuses. A single refusal is not enough, because it may happen while a fleet
// file is being changed. But a single refusal is enough if the neighbor signed its hello, as with a broker.
const refusals = 3

// watch ends the run when every neighbor has a different fleet: most likely this node's fleet file is wrong. In a run
// that is not private, it also reports the first restart of the program that computes losses.
func (d *Device) watch(ctx context.Context, cancel context.CancelCauseFunc) {
	type count struct {
		last  error
		times int
	}
	seen, told := make(map[string]count), d.source.Restarts == nil || !d.fleet.Privacy.NonPrivate
	// Refusals occur early in a run, so the pauses between checks may grow, which saves battery power.
	for wait := time.Second / 2; ; wait = min(2*wait, 16*time.Second) {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		if !told {
			if n, last := d.source.Restarts(); n > 0 {
				told = true
				d.say("the program that computes losses was started again (\"spade-edge status\" counts further times): %v", last)
			}
		}
		var final []string
		peers := d.link.Peers()
		for _, peer := range peers {
			c := seen[peer.Name]
			switch {
			case peer.Refused == nil:
				c = count{}
			case !errors.Is(peer.Refused, c.last): // each refusal has an error value of its own
				c = count{peer.Refused, c.times + 1}
			}
			seen[peer.Name] = c
			if c.times >= refusals || c.times > 0 && peer.Broker {
				final = append(final, fmt.Sprintf("%q: %v", peer.Name, peer.Refused))
			}
		}
		if len(peers) > 0 && len(final) == len(peers) {
			cancel(fmt.Errorf("%w: %s", ErrMismatch, strings.Join(final, "; ")))
			return
		}
	}
}

// reloadOn reloads the fleet file at every SIGHUP until the caller calls stop.
func (d *Device) reloadOn(hangup chan os.Signal) (stop func()) {
	var work sync.WaitGroup
	work.Go(func() {
		for range hangup {
			if err := d.reload(); err != nil {
				d.say("could not reload the fleet file, so keys and addresses are unchanged: %v", err)
				continue
			}
			d.say("the fleet file was reloaded: keys and addresses now come from %s", d.File.Fleet)
		}
	})
	return func() {
		signal.Stop(hangup)
		close(hangup)
		work.Wait()
	}
}

// reload gives the transport the current keys and addresses of the fleet file. It fails if anything else in the fleet
// has changed.
func (d *Device) reload() error {
	file, err := fleetfile.Read(d.File.Fleet)
	if err != nil {
		return err
	}
	if file.Fleet.Hash() != d.fleet.Hash() {
		// This check, which two members make when they connect, names the section that differs.
		err := d.fleet.CheckHello("this node")("its file", file.Fleet.Hello("its file")("this node"))
		return fmt.Errorf("only keys and addresses may change during a run: %w", err)
	}
	if err := d.File.CheckIdentity(file, d.Key); err != nil {
		return err
	}
	if err := d.link.Update(file.Peers(d.File.Name)); err != nil {
		return err
	}
	d.current.Store(file)
	return nil
}
