package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/transport/ws"
)

// hearHangup takes every SIGHUP from now on, one of which waits until somebody reads it: a hangup that comes while the node is still
// loading its data does not end the process. Windows has no such signal, and there nothing happens.
func hearHangup() (hangup <-chan os.Signal, stop func()) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGHUP)
	return c, func() { signal.Stop(c) }
}

// reloadOnHangup reads the fleet file again with every hangup, until the function that it returns is called.
func (p *participant) reloadOnHangup(link ws.Config) (stop func()) {
	end, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		for {
			select {
			case <-end:
				return
			case <-p.hangup:
			}
			if err := p.reload(link); err != nil {
				p.say("the fleet file is not taken over, everything stays as it was: %v", err)
				continue
			}
			p.say("the fleet file is read again: keys and addresses are those of %s now", p.file.Fleet)
		}
	}()
	return func() {
		close(end)
		<-over
	}
}

// reload gives the transport the keys and addresses that the fleet file has now. Nothing else of the file may have changed.
func (p *participant) reload(link ws.Config) error {
	file, err := fleetfile.Read(p.file.Fleet)
	if err != nil {
		return err
	}
	if file.Fleet.Hash() != p.fleet.Hash() {
		// Members would tell each other so, and in which section.
		err := p.fleet.CheckHello("this node")("its file", file.Fleet.Hello("its file")("this node"))
		return fmt.Errorf("only keys and addresses may change during a run: %w", err)
	}
	next, err := file.Transport(p.file.Name, link.Key, link.Listen)
	if err != nil {
		return err
	}
	if err := p.tr.Update(next.Peers); err != nil {
		return err
	}
	p.members.Store(file)
	return nil
}
