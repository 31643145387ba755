package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/program"
	"github.com/spade-dfl/spade-edge/sdk/broker"
	"github.com/spade-dfl/spade-edge/sdk/device"
	"github.com/spade-dfl/spade-edge/sdk/fleetfile"
	"github.com/spade-dfl/spade-edge/sdk/wire"
	"github.com/spade-dfl/spade-edge/transport/broker/nats"
)

// overNATS is the program spade-edge with NATS as the transport.
var overNATS = program.Program{
	Name:     "spade-edge-nats",
	Licenses: licenses,
	Accept:   accept,
	Open: func(d *device.Device, log *slog.Logger) (device.Link, error) {
		cfg, err := config(d)
		if err != nil {
			return nil, err
		}
		cfg.Logger = log
		log.Info("meeting", "broker", of(d.File).URL, "stream", nats.Stream(cfg.Run),
			"publishing on", nats.Subjects(cfg.Run, cfg.Name))
		return nats.New(cfg)
	},
	Ask: ask,
}

//go:embed licenses.txt
var licenses string

func main() { overNATS.Main() }

func of(node *fleetfile.Node) *broker.NATS {
	n, _ := node.Transport.(*broker.NATS)
	return n
}

// accept returns an error unless the node file names a NATS broker and the credentials can be read.
func accept(node *fleetfile.Node) error {
	if of(node) == nil {
		return errors.New(`transport is missing, want {"nats": "tls://host:port"}; ` +
			"to run a node over websockets, use spade-edge")
	}
	_, err := credentials(of(node))
	return err
}

// config returns the configuration of a node's transport.
func config(d *device.Device) (nats.Config, error) {
	f, name := d.Fleet.Fleet, d.File.Name
	options, err := credentials(of(d.File))
	return nats.Config{
		Name: name, Key: d.Key, Peers: d.Fleet.Peers(name), Run: f.Run, Fleet: f.Hash(),
		URLs: []string{of(d.File).URL}, Proxy: d.Proxy, Options: options, MaxFrame: wire.MaxFrame(f.Dim),
		Hello: f.Hello(name), CheckHello: f.CheckHello(name),
	}, err
}

// ask reports the broker's answer, and which neighbors have connected to the broker.
func ask(ctx context.Context, d *device.Device, patience time.Duration, _ bool) (all []program.Answer) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cfg, err := config(d)
	var a *nats.Answer
	if err == nil {
		a, err = nats.Probe(ctx, cfg)
	}
	if err != nil {
		return []program.Answer{{Who: "broker", Err: err, Code: 64}}
	}
	met := program.Answer{Who: "broker", Err: a.Err}
	through := ""
	if a.Proxy != "" {
		through = " through the proxy " + a.Proxy
	}
	switch {
	case a.Refused:
		met.Code = 1
	case a.Err != nil:
		met.Err = fmt.Errorf("not reachable (yet): %s%s: %w", of(d.File).URL, through, a.Err)
	default:
		stream := "; the first member to run creates the stream"
		if a.Stream {
			stream = ", and has a stream for the run"
		}
		met.Text = fmt.Sprintf("lets this node in, and publish, at %s%s, in %v%s", a.Where, through, a.Took.Round(100*time.Microsecond), stream)
	}
	all = append(all, met)
	for _, p := range a.Peers {
		answer := program.Answer{Who: fmt.Sprintf("neighbor %q", p.Name), Err: p.Refused}
		switch {
		case p.Refused != nil:
			answer.Code = 4
		case p.Here.IsZero():
			answer.Err = errors.New("has not connected to the broker (yet)")
		default:
			answer.Text = fmt.Sprintf("has the same fleet; its node started at %v", p.Here.UTC().Format(time.RFC3339))
		}
		all = append(all, answer)
	}
	return all
}
